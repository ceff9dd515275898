//! `cargo xtask gen PRESET DIR`: sessions of any size, the same bytes every time.
//!
//! One story is told in three formats, so that what reads them can be compared: our journal, pi's file and Claude
//! Code's. A story is a tree with turns, tools, branches, compactions, labels and images; what is said is made of
//! words that do not exist.

mod chance;
mod claude;
mod ours;
mod pi;
mod story;
mod words;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use chance::Chance;
use story::{Plot, Told, tell};
use words::Words;

/// A word that stands in `RARE_SESSIONS` sessions of the corpus, and nowhere else.
pub(crate) const RARE_WORD: &str = "quibberwort";
pub(crate) const RARE_SESSIONS: usize = 7;

const CORPUS_SESSIONS: usize = 5_000;
const CORPUS_PROJECTS: usize = 60;

/// Writes a story in one format.
pub(crate) trait Pen {
    fn open(&mut self, session: &Session) -> Result<()>;
    fn write(&mut self, told: &Told<'_>) -> Result<()>;
    fn close(&mut self) -> Result<()>;
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) number: u64,
    pub(crate) project: String,
    pub(crate) opened_ms: i64,
}

impl Session {
    /// A UUID that is the same in every run.
    pub(crate) fn id(&self) -> String {
        chance::uuid(self.number ^ 0x5e55_1011)
    }
}

/// The formats a session is written in.
pub(crate) const FORMATS: &[&str] = &["pi", "claude", "offshoot"];

pub(crate) fn run(preset: &str, dir: &Path, formats: &[&str]) -> Result<ExitCode> {
    if preset == "corpus" {
        corpus(dir, formats)?;
    } else {
        write(preset, dir, formats)?;
    }
    for file in written(dir)? {
        println!("{:>12}  {}", std::fs::metadata(&file)?.len(), file.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// One session in these formats.
pub(crate) fn write(preset: &str, dir: &Path, formats: &[&str]) -> Result<()> {
    let plot = Plot::named(preset).with_context(|| {
        format!("no preset `{preset}`; there are small, large, long, huge, deep-linear, bushy and corpus")
    })?;
    let session = the_session();
    let words = Words::new();
    for format in formats {
        let mut pen = pen(format, &dir.join(format), preset)?;
        one(&words, &plot, &session, None, pen.as_mut())?;
    }
    Ok(())
}

/// What a single session is called in its files.
pub(crate) fn session_id() -> String {
    the_session().id()
}

fn the_session() -> Session {
    Session { number: 1, project: "/home/dev/project".into(), opened_ms: story::START_MS }
}

fn one(
    words: &Words,
    plot: &Plot,
    session: &Session,
    planted: Option<&str>,
    pen: &mut dyn Pen,
) -> Result<()> {
    pen.open(session)?;
    let mut chance = Chance::new(session.number);
    tell(plot, session.opened_ms, planted, words, &mut chance, &mut |told| pen.write(told))?;
    pen.close()
}

/// What writes a format, below the folder of that format.
fn pen(format: &str, folder: &Path, name: &str) -> Result<Box<dyn Pen>> {
    let file = || file_at(&folder.join(format!("{name}.jsonl")));
    Ok(match format {
        "pi" => Box::new(pi::PiPen::new(file()?)),
        "claude" => Box::new(claude::ClaudePen::new(file()?)),
        "offshoot" => Box::new(ours::OurPen::new(folder.join(name))?),
        _ => bail!("no format `{format}`; there are {}", FORMATS.join(", ")),
    })
}

/// Many sessions, laid out the way each program lays out its own.
fn corpus(dir: &Path, formats: &[&str]) -> Result<()> {
    let words = Words::new();
    let mut chance = Chance::new(0xc0_4b05);
    for number in 0..CORPUS_SESSIONS as u64 {
        let project = number as usize % CORPUS_PROJECTS;
        let session = Session {
            number: number + 1_000,
            project: format!("/home/dev/project-{project:02}"),
            opened_ms: story::START_MS + number as i64 * 600_000,
        };
        let plot = Plot::of_corpus(&mut chance);
        let is_rare = (number as usize * RARE_SESSIONS) % CORPUS_SESSIONS < RARE_SESSIONS;
        let planted = is_rare.then_some(RARE_WORD);
        let folder = format!("-home-dev-project-{project:02}");
        let pi_name = format!("-{folder}--/{}_{}", story::file_time(session.opened_ms), session.id());
        let claude_name = format!("{folder}/{}", session.id());
        for format in formats {
            let (below, name) = match *format {
                "pi" => ("corpus", pi_name.as_str()),
                "claude" => ("corpus", claude_name.as_str()),
                // all of them have one home
                _ => ("", "corpus"),
            };
            let mut pen = pen(format, &dir.join(format).join(below), name)?;
            one(&words, &plot, &session, planted, pen.as_mut())?;
        }
    }
    Ok(())
}

fn file_at(path: &Path) -> Result<BufWriter<File>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    }
    let file = File::create(path).with_context(|| format!("cannot create `{}`", path.display()))?;
    Ok(BufWriter::with_capacity(1 << 20, file))
}

/// The files of single sessions; a corpus is told by its folders.
fn written(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["pi", "claude", "offshoot"] {
        let Ok(listing) = std::fs::read_dir(dir.join(folder)) else { continue };
        for item in listing {
            files.push(item?.path());
        }
    }
    if files.is_empty() {
        bail!("nothing was written under `{}`", dir.display());
    }
    files.sort();
    Ok(files)
}

/// One line of JSON.
pub(crate) fn line(out: &mut impl Write, value: &serde_json::Value) -> Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")?;
    Ok(())
}
