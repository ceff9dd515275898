//! The story of a session, apart from any format.

use anyhow::Result;
use jiff::Timestamp;

use super::chance::Chance;
use super::words::Words;

/// 2025-10-09T08:53:20Z
pub(crate) const START_MS: i64 = 1_760_000_000_000;

/// How a session goes.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    entries: usize,
    branches: usize,
    compact_every: Option<usize>,
    labels: usize,
    images: f64,
    /// How often a branch leaves a recent turn and not any turn.
    recent: f64,
    /// How likely a reply ends the turn instead of calling a tool.
    turn_ends: f64,
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) struct Told<'w> {
    /// Place in the order of writing; entries name each other by it.
    pub(crate) number: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) at_ms: i64,
    pub(crate) what: What<'w>,
}

#[derive(Debug)]
pub(crate) enum What<'w> {
    Prompt { text: String, image: Option<String> },
    Reply { thinking: Option<&'w str>, text: &'w str, call: Option<Call<'w>>, tokens: Tokens },
    Result { call: usize, tool: &'static str, text: &'w str, image: Option<String>, failed: bool },
    Compaction { summary: &'w str, first_kept: usize, tokens: i64 },
    BranchSummary { summary: &'w str, left: usize },
    Label { target: usize, label: String },
    Model,
    Thinking,
}

#[derive(Debug)]
pub(crate) struct Call<'w> {
    pub(crate) tool: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: &'w str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens {
    pub(crate) input: i64,
    pub(crate) output: i64,
    pub(crate) cached: i64,
}

const TOOLS: &[(&str, &str)] =
    &[("bash", "command"), ("read", "path"), ("edit", "path"), ("grep", "pattern")];

/// Entries that stay in full at a compaction.
const KEPT: usize = 40;

impl Plot {
    pub(crate) fn named(preset: &str) -> Option<Self> {
        let plot = |entries, branches, compact_every, labels, images, recent, turn_ends| Self {
            entries,
            branches,
            compact_every,
            labels,
            images,
            recent,
            turn_ends,
        };
        Some(match preset {
            "small" => plot(200, 3, None, 3, 0.003, 0.9, 0.1),
            "large" => plot(20_000, 60, Some(400), 40, 0.003, 0.98, 0.1),
            "long" => plot(54_500, 160, Some(400), 80, 0.003, 0.99, 0.1),
            "huge" => plot(200_000, 400, Some(400), 200, 0.003, 0.995, 0.1),
            "deep-linear" => plot(50_000, 0, None, 0, 0.0, 1.0, 0.1),
            "bushy" => plot(50_000, 5_000, Some(300), 500, 0.001, 0.7, 0.3),
            _ => return None,
        })
    }

    /// Sessions of a person: most are short, few are long.
    pub(crate) fn of_corpus(chance: &mut Chance) -> Self {
        Self {
            entries: chance.long_tailed(50.0, 1.0, 1_500),
            branches: 1,
            compact_every: Some(300),
            labels: usize::from(chance.happens(0.1)),
            images: 0.002,
            recent: 0.9,
            turn_ends: 0.12,
        }
    }
}

pub(crate) fn tell<'w>(
    plot: &Plot,
    start_ms: i64,
    planted: Option<&str>,
    words: &'w Words,
    chance: &mut Chance,
    tell: &mut dyn FnMut(&Told<'w>) -> Result<()>,
) -> Result<()> {
    let mut teller =
        Teller { plot, words, at_ms: start_ms, tip: None, parents: Vec::new(), prompts: Vec::new(), tell };
    let branch_every = plot.entries / (plot.branches + 1);
    let label_every = plot.entries / (plot.labels + 1);
    let (mut next_branch, mut next_label, mut since_compaction) = (branch_every, label_every, 0);
    let mut planted = planted;
    while teller.written() < plot.entries {
        let written = teller.written();
        if plot.branches > 0 && written >= next_branch && teller.prompts.len() > 2 {
            next_branch += branch_every;
            teller.branch(chance)?;
        }
        if plot.compact_every.is_some_and(|every| written - since_compaction >= every) {
            since_compaction = written;
            teller.compact(chance)?;
        }
        if plot.labels > 0 && written >= next_label {
            next_label += label_every;
            teller.label()?;
        }
        if chance.happens(0.03) {
            let what = if chance.happens(0.5) { What::Model } else { What::Thinking };
            teller.happen(what, chance)?;
        }
        teller.turn(planted.take(), chance)?;
    }
    Ok(())
}

struct Teller<'p, 'w> {
    plot: &'p Plot,
    words: &'w Words,
    at_ms: i64,
    tip: Option<usize>,
    parents: Vec<Option<usize>>,
    prompts: Vec<usize>,
    tell: &'p mut dyn FnMut(&Told<'w>) -> Result<()>,
}

impl<'w> Teller<'_, 'w> {
    fn written(&self) -> usize {
        self.parents.len()
    }

    fn happen(&mut self, what: What<'w>, chance: &mut Chance) -> Result<usize> {
        self.at_ms += 50 + chance.around(4_000.0) as i64;
        let number = self.written();
        let told = Told { number, parent: self.tip, at_ms: self.at_ms, what };
        (self.tell)(&told)?;
        self.parents.push(self.tip);
        self.tip = Some(number);
        Ok(number)
    }

    fn turn(&mut self, planted: Option<&str>, chance: &mut Chance) -> Result<()> {
        let mut text = self.words.prose(chance.long_tailed(250.0, 0.9, 8_000), chance).to_owned();
        if let Some(word) = planted {
            text.push(' ');
            text.push_str(word);
        }
        let image = self.image(chance);
        let prompt = self.happen(What::Prompt { text, image }, chance)?;
        self.prompts.push(prompt);
        while self.written() < self.plot.entries {
            let ends = chance.happens(self.plot.turn_ends);
            let (tool, key) = TOOLS[chance.below(TOOLS.len())];
            let call =
                (!ends).then(|| Call { tool, key, value: self.words.output(40 + chance.below(60), chance) });
            let thinking =
                chance.happens(0.25).then(|| self.words.prose(chance.long_tailed(900.0, 0.7, 6_000), chance));
            let text =
                self.words.prose(chance.long_tailed(if ends { 900.0 } else { 120.0 }, 0.8, 6_000), chance);
            let tokens = Tokens {
                input: 200 + chance.below(4_000) as i64,
                output: 50 + chance.below(900) as i64,
                cached: chance.below(120_000) as i64,
            };
            let reply = self.happen(What::Reply { thinking, text, call, tokens }, chance)?;
            if ends || self.written() >= self.plot.entries {
                break;
            }
            let text = self.words.output(chance.long_tailed(4_000.0, 1.15, 60_000), chance);
            let (image, failed) = (self.image(chance), chance.happens(0.04));
            self.happen(What::Result { call: reply, tool, text, image, failed }, chance)?;
        }
        Ok(())
    }

    /// Goes back to the place before an earlier prompt.
    fn branch(&mut self, chance: &mut Chance) -> Result<()> {
        let last = self.prompts.len() - 1;
        let back = if chance.happens(self.plot.recent) { 1 + chance.around(4.0) } else { chance.below(last) };
        let target = self.prompts[last - back.min(last)];
        let left = self.tip;
        self.tip = self.parents[target].or(Some(target));
        if let (Some(left), true) = (left, chance.happens(0.5)) {
            let summary = self.words.prose(300 + chance.below(1_700), chance);
            self.happen(What::BranchSummary { summary, left }, chance)?;
        }
        Ok(())
    }

    fn compact(&mut self, chance: &mut Chance) -> Result<()> {
        let Some(mut first_kept) = self.tip else { return Ok(()) };
        for _ in 0..KEPT {
            first_kept = self.parents[first_kept].unwrap_or(first_kept);
        }
        let summary = self.words.prose(2_000 + chance.below(6_000), chance);
        let tokens = 150_000 + chance.below(30_000) as i64;
        self.happen(What::Compaction { summary, first_kept, tokens }, chance)?;
        Ok(())
    }

    /// A label is no entry in every format; it takes no number.
    fn label(&mut self) -> Result<()> {
        if let Some(target) = self.prompts.last().copied() {
            let label = format!("mark {target}");
            let told = Told {
                number: self.written(),
                parent: self.tip,
                at_ms: self.at_ms,
                what: What::Label { target, label },
            };
            (self.tell)(&told)?;
        }
        Ok(())
    }

    /// Letters that stand for a picture.
    fn image(&self, chance: &mut Chance) -> Option<String> {
        chance.happens(self.plot.images).then(|| {
            let bytes = 30_000 + chance.below(60_000);
            (0..bytes / 16).map(|_| format!("{:016x}", chance.next())).collect()
        })
    }
}

pub(crate) fn time(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// As programs put it into names of files.
pub(crate) fn file_time(ms: i64) -> String {
    time(ms).replace([':', '.'], "-")
}
