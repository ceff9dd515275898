//! `search`: lines that match a regular expression.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use rustix::fs::FileType;

use super::input::Input;
use super::list::{glob, matches, place};
use super::{Cancel, ToolOutput};
use crate::workspace::{Found, Walk, Workspace};

const MATCHES: usize = 500;

/// The rest of a longer line is left out.
const LONGEST_LINE: usize = 300;

/// A file with a longer line is searched up to it.
const LINE_BUFFER: usize = 16 * 1024 * 1024;

/// A larger pattern would take too much memory.
const PATTERN_SIZE: usize = 10 * 1024 * 1024;

pub(super) fn search(workspace: &Workspace, input: &Input, cancel: &Cancel) -> Result<ToolOutput, String> {
    let matcher = RegexMatcherBuilder::new()
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_SIZE)
        .build(input.text("pattern")?)
        .map_err(|error| format!("the pattern is not valid: {error}"))?;
    let from = place(workspace, input)?;
    let glob = input.optional_text("glob")?.map(glob).transpose()?;
    let mut search = Search { matcher, searcher: searcher(), lines: Lines::default(), cancel };
    match workspace.kind(&from).map_err(|error| error.to_string())? {
        FileType::Directory => {
            let visit = &mut |found: &Found<'_>| {
                if cancel.is_cancelled() {
                    return ControlFlow::Break(());
                }
                let is_meant = glob.as_ref().is_none_or(|glob| matches(glob, &from, found.path));
                if found.kind != FileType::RegularFile || !is_meant {
                    return ControlFlow::Continue(());
                }
                match found.file() {
                    Ok(file) => search.file(found.path, file),
                    // It is gone, or closed to us.
                    Err(_) => ControlFlow::Continue(()),
                }
            };
            workspace.walk(&from, Walk::Everything, visit).map_err(|error| error.to_string())?;
        }
        _ => {
            let file = workspace.file(&from).map_err(|error| error.to_string())?;
            let _ = search.file(from.relative(), file);
        }
    }
    Ok(ToolOutput::text(search.lines.text()))
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LINE_BUFFER))
        .line_number(true)
        .build()
}

struct Search<'c> {
    matcher: RegexMatcher,
    searcher: Searcher,
    lines: Lines,
    cancel: &'c Cancel,
}

impl Search<'_> {
    fn file(&mut self, path: &Path, file: impl Read) -> ControlFlow<()> {
        let source = Source { file, cancel: self.cancel };
        let sink = FileLines { path, lines: &mut self.lines };
        // A file that cannot be read to its end has what was found before.
        let _ = self.searcher.search_reader(&self.matcher, source, sink);
        if self.lines.is_cut || self.cancel.is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// A file that ends when the call is cancelled.
struct Source<'c, R> {
    file: R,
    cancel: &'c Cancel,
}

impl<R: Read> Read for Source<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() { Ok(0) } else { self.file.read(buffer) }
    }
}

#[derive(Debug, Default)]
struct Lines {
    text: String,
    matches: usize,
    is_cut: bool,
}

impl Lines {
    fn text(mut self) -> String {
        if self.is_cut {
            self.text.push_str(&format!(
                "[there are more than {MATCHES}; narrow the pattern, `path` or `glob`]\n"
            ));
        }
        if self.matches == 0 {
            self.text.push_str("[no line matches]");
        }
        self.text
    }
}

struct FileLines<'l> {
    path: &'l Path,
    lines: &'l mut Lines,
}

impl Sink for FileLines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.lines.matches == MATCHES {
            self.lines.is_cut = true;
            return Ok(false);
        }
        self.lines.matches += 1;
        let line = String::from_utf8_lossy(found.bytes());
        let line = line.trim_end_matches(['\n', '\r']);
        let shown = line.get(..line.floor_char_boundary(LONGEST_LINE)).unwrap_or(line);
        let more = if shown.len() < line.len() { "…" } else { "" };
        let number = found.line_number().unwrap_or_default();
        self.lines.text.push_str(&format!("{}:{number}:{shown}{more}\n", self.path.display()));
        Ok(true)
    }
}
