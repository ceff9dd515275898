//! What is said: prose and output of tools, cut from two long texts of made-up words.

use super::chance::Chance;

const SYLLABLES: &[&str] = &[
    "ba", "cor", "del", "fi", "gan", "hu", "jor", "ki", "lum", "men", "nor", "pel", "qui", "ras", "sol",
    "tam", "ul", "ver", "wen", "yor", "zim", "bran", "cle", "dro", "fen", "gri", "mol", "nes", "pra", "sten",
    "tri", "vel",
];
const GLUE: &[&str] = &[
    "the", "a", "to", "of", "and", "in", "is", "that", "for", "with", "as", "not", "file", "test", "error",
    "build", "retry", "branch", "request", "server", "cache", "index", "token", "tool", "path", "value",
    "check", "because",
];
const VOCABULARY: usize = 20_000;
const PROSE_BYTES: usize = 2 << 20;
const OUTPUT_BYTES: usize = 6 << 20;

pub(crate) struct Words {
    prose: String,
    output: String,
}

impl Words {
    pub(crate) fn new() -> Self {
        let mut chance = Chance::new(7);
        let vocabulary: Vec<String> = (0..VOCABULARY).map(|_| coined(&mut chance)).collect();
        let prose = text(PROSE_BYTES, &mut chance, |chance| sentence(&vocabulary, chance));
        let output = text(OUTPUT_BYTES, &mut chance, |chance| output_line(&vocabulary, chance));
        Self { prose, output }
    }

    pub(crate) fn prose(&self, bytes: usize, chance: &mut Chance) -> &str {
        piece(&self.prose, bytes, chance)
    }

    pub(crate) fn output(&self, bytes: usize, chance: &mut Chance) -> &str {
        piece(&self.output, bytes, chance)
    }
}

fn text(bytes: usize, chance: &mut Chance, line: impl Fn(&mut Chance) -> String) -> String {
    let mut text = String::with_capacity(bytes + 256);
    while text.len() < bytes {
        text.push_str(&line(chance));
        text.push('\n');
    }
    text
}

/// About so many bytes from somewhere, whole characters only.
fn piece<'t>(text: &'t str, bytes: usize, chance: &mut Chance) -> &'t str {
    let bytes = bytes.min(text.len());
    let mut start = chance.below(text.len() - bytes + 1);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = start + bytes;
    while end < text.len() && !text.is_char_boundary(end) {
        end += 1;
    }
    text[start..end.min(text.len())].trim()
}

fn coined(chance: &mut Chance) -> String {
    (0..2 + chance.below(3)).map(|_| pick(SYLLABLES, chance)).collect()
}

fn pick<'w>(words: &[&'w str], chance: &mut Chance) -> &'w str {
    words[chance.below(words.len())]
}

/// Few words often, many words seldom.
fn common<'w>(vocabulary: &'w [String], chance: &mut Chance) -> &'w str {
    let place = chance.fraction().powi(3) * vocabulary.len() as f64;
    &vocabulary[(place as usize).min(vocabulary.len() - 1)]
}

fn sentence(vocabulary: &[String], chance: &mut Chance) -> String {
    let words: Vec<&str> = (0..8 + chance.below(16))
        .map(|_| if chance.happens(0.5) { pick(GLUE, chance) } else { common(vocabulary, chance) })
        .collect();
    let end = pick(&[".", ".", ".", ":", " → so", " — né", "。"], chance);
    format!("{}{end}", words.join(" "))
}

fn output_line(vocabulary: &[String], chance: &mut Chance) -> String {
    let word = |chance: &mut Chance| common(vocabulary, chance).to_owned();
    match chance.below(5) {
        0 => format!("    let {} = {}(\"{}\\n\");", word(chance), word(chance), word(chance)),
        1 => format!("src/{}/{}.rs:{}: {}", word(chance), word(chance), chance.below(2000), word(chance)),
        2 => format!("test {}::{} ... ok", word(chance), word(chance)),
        3 => format!("\u{1b}[32m   Compiling\u{1b}[0m {} v0.{}.1", word(chance), chance.below(40)),
        _ => format!("{:x}  {}  {}", chance.next() >> 24, chance.below(1_000_000), word(chance)),
    }
}
