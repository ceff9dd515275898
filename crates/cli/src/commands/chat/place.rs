//! Where the head is after something was done, and what came back with it.

use offshoot_api::request::Session;
use offshoot_api::views::TreeRow;
use offshoot_api::{Request, Response, response};
use offshoot_session::{Change, Fact, Record};

use super::after::After;
use super::session::{Chat, is_unanswered};
use crate::failure::Failure;
use crate::look::Ink;
use crate::steps::Steps;
use crate::stored::read_even_if_taken_back;
use crate::talk::open;
use crate::text::harmless_lines;
use crate::which::short;
use crate::words::chatting as words;

impl Chat<'_> {
    pub(super) async fn tell_after(&mut self, after: After, response: Response) -> Result<(), Failure> {
        let Response::Moved(moved) = response else {
            return match after {
                After::Nothing => Ok(()),
                _ => self.tell(Ink::Faint, words::DONE),
            };
        };
        if self.session.as_deref() != Some(moved.session.as_str()) {
            return self.go_on_in(moved).await;
        }
        match after {
            After::Nothing => return Ok(()),
            After::Done => return self.tell(Ink::Faint, words::DONE),
            After::Undone | After::Redone => {
                if let Some(step) = self.last_step() {
                    let text = if after == After::Undone { words::undid(&step) } else { words::redid(&step) };
                    self.tell(Ink::Faint, &text)?;
                }
                if moved.from == moved.to {
                    return Ok(());
                }
            }
            After::Moved if moved.from == moved.to && moved.version.is_none() => {
                self.tell(Ink::Faint, words::IS_THERE_ALREADY)?;
            }
            After::Moved => {
                if let Some((number, of)) = moved.version {
                    self.tell(Ink::Faint, &words::version_line(number, of))?;
                }
            }
            After::Rewound(_) => {}
        }
        self.tell_place(&after).await?;
        self.give_back(&moved)
    }

    /// A fork, or a change of settings, has made a session of its own.
    pub(super) async fn go_on_in(&mut self, moved: response::Moved) -> Result<(), Failure> {
        if let Err(error) = self.open(&moved.session, Some(0)).await {
            self.is_refused(&error);
            return Ok(());
        }
        let name = short(self.here, &moved.session.as_str().into());
        self.tell(Ink::Faint, &words::goes_on_in(&name))?;
        self.give_back(&moved)
    }

    /// Words that were picked. A line that is being typed cannot be filled in, so they are shown to be copied.
    fn give_back(&mut self, moved: &response::Moved) -> Result<(), Failure> {
        let Some(text) = moved.editor_text.as_deref().filter(|text| !text.trim().is_empty()) else {
            return Ok(());
        };
        self.tell(Ink::Faint, words::WORDS_COME_BACK)?;
        for line in harmless_lines(text, self.here.look.ascii) {
            self.tell(Ink::Plain, &format!("  {line}"))?;
        }
        Ok(())
    }

    pub(super) async fn tell_place(&mut self, after: &After) -> Result<(), Failure> {
        let Some(session) = self.session.clone() else { return Ok(()) };
        let Ok(reached) = self.reached() else { return Ok(()) };
        let (Ok(view), Ok(Response::Tree { rows })) = (
            open(reached, &session, Some(1)).await,
            reached.call(Request::Tree(Session { session: session.clone() })).await,
        ) else {
            // Whoever answers no more is noticed by what is asked next.
            return Ok(());
        };
        self.see(&view);
        let at =
            rows.iter().filter(|row| row.on_path).map(|row| row.number).max().filter(|number| *number > 0);
        if let After::Rewound(to) = after {
            let number = turn_number(to).or_else(|| number_of(&rows, to));
            self.tell(Ink::Faint, &words::rewound(number))?;
        }
        match at {
            Some(number) => self.tell(Ink::Faint, &words::head_is_at(number))?,
            None => self.tell(Ink::Faint, words::BEFORE_FIRST)?,
        }
        match is_unanswered(&view) {
            true => self.tell(Ink::Accent, words::NO_ANSWER_YET),
            false => Ok(()),
        }
    }

    /// The step that was taken back or again last, in a few words. Only the journal knows it.
    fn last_step(&self) -> Option<String> {
        let session = self.session.as_deref()?;
        let tree = read_even_if_taken_back(self.here, &session.into()).ok()?.tree;
        let records: Vec<&Record> = tree.log().collect();
        let turned = records.iter().rev().find_map(|record| match &record.change {
            Change::Marked(mark) => match &mark.fact {
                Fact::Undone { operation } | Fact::Redone { operation } => Some(operation),
                _ => None,
            },
            _ => None,
        });
        Some(Steps::of(&tree).told(tree.operation(turned?)?))
    }
}

/// `3` and `#3`.
fn turn_number(point: &str) -> Option<usize> {
    point.strip_prefix('#').unwrap_or(point).parse().ok()
}

/// By an id, its beginning, or a label.
fn number_of(rows: &[TreeRow], point: &str) -> Option<usize> {
    let is_it = |row: &&TreeRow| row.id.starts_with(point) || row.label.as_deref() == Some(point);
    rows.iter().find(is_it).map(|row| row.number)
}
