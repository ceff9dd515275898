//! `read`: lines of a text file, or an image.

use std::io::{BufRead, BufReader, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offshoot_session::image::{ImageKind, LARGEST_IMAGE};
use offshoot_session::{Block, ImageData};

use super::input::Input;
use super::{Cancel, ToolOutput};
use crate::workspace::{Workspace, WorkspacePath};

const LINES: u64 = 2000;

/// A result is not longer, however long the lines are.
const BYTES: usize = 128 * 1024;

/// The rest of a longer line is left out.
const LONGEST_LINE: usize = 4000;

/// Lines behind this are found by a shell faster.
const READ_AT_MOST: u64 = 256 * 1024 * 1024;

/// So much of the beginning tells whether a file is text.
const BEGINS: usize = 8192;

pub(super) fn read(workspace: &Workspace, input: &Input, cancel: &Cancel) -> Result<ToolOutput, String> {
    let path = workspace.inside(input.text("path")?).map_err(|error| error.to_string())?;
    let from = input.number("offset")?.unwrap_or(1);
    let lines = input.number("limit")?.unwrap_or(LINES).min(LINES);
    let file = workspace.file(&path).map_err(|error| error.to_string())?;
    let mut source = BufReader::with_capacity(BEGINS, file.take(READ_AT_MOST));
    let begin = source.fill_buf().map_err(|error| unread(&path, &error))?;
    if let Some(kind) = ImageKind::of(begin) {
        return image(kind, &path, source);
    }
    if begin.contains(&0) {
        return Err(format!("`{path}` is not a text file"));
    }
    part(&path, &mut source, from, lines, cancel)
}

fn image(kind: ImageKind, path: &WorkspacePath, source: impl Read) -> Result<ToolOutput, String> {
    let mut bytes = Vec::new();
    source.take(LARGEST_IMAGE + 1).read_to_end(&mut bytes).map_err(|error| unread(path, &error))?;
    if bytes.len() as u64 > LARGEST_IMAGE {
        return Err(format!("the image `{path}` has more than {LARGEST_IMAGE} bytes, which no model reads"));
    }
    let text = format!("{} image, {} bytes", kind.name(), bytes.len());
    let data = ImageData::Inline(STANDARD.encode(&bytes));
    let images = vec![Block::Image { media_type: kind.media_type().to_owned(), data }];
    Ok(ToolOutput { images, ..ToolOutput::text(text) })
}

fn part(
    path: &WorkspacePath,
    source: &mut impl BufRead,
    from: u64,
    lines: u64,
    cancel: &Cancel,
) -> Result<ToolOutput, String> {
    let mut text = String::new();
    let mut number = 0;
    let end = from.saturating_add(lines);
    loop {
        if cancel.is_cancelled() {
            return Err(super::output::CANCELLED.to_owned());
        }
        let Some(line) = next_line(source).map_err(|error| unread(path, &error))? else { break };
        number += 1;
        if number >= end || text.len() + line.text.len() > BYTES {
            text.push_str(&format!("[there are more lines; continue with offset {number}]\n"));
            return Ok(ToolOutput::text(text));
        }
        if number >= from {
            text.push_str(&String::from_utf8_lossy(&line.text));
            if line.left_out > 0 {
                text.push_str(&format!("[{} more bytes in this line]", line.left_out));
            }
            text.push('\n');
        }
    }
    match number {
        0 if from == 1 => Ok(ToolOutput::text("[the file is empty]")),
        number if number < from => Err(format!("`{path}` has no line {from}; it has {number}")),
        _ => Ok(ToolOutput::text(text)),
    }
}

struct Line {
    text: Vec<u8>,
    left_out: usize,
}

/// The next line without its end, and no more of it than is shown.
fn next_line(source: &mut impl BufRead) -> std::io::Result<Option<Line>> {
    let mut line = Line { text: Vec::new(), left_out: 0 };
    let mut is_begun = false;
    loop {
        let chunk = source.fill_buf()?;
        if chunk.is_empty() {
            return Ok(is_begun.then_some(line));
        }
        is_begun = true;
        let end = memchr::memchr(b'\n', chunk);
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        let (shown, rest) = part.split_at(part.len().min(LONGEST_LINE - line.text.len()));
        line.text.extend_from_slice(shown);
        line.left_out += rest.len();
        let taken = part.len() + usize::from(end.is_some());
        source.consume(taken);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

fn unread(path: &WorkspacePath, error: &std::io::Error) -> String {
    format!("could not read `{path}`: {error}")
}
