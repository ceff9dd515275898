//! Where the head is after something was done, and what came back with it.

use offshoot_api::request::Session;
use offshoot_api::views::{PlaceView, TreeRow};
use offshoot_api::{Changed, Request, Response};

use super::after::After;
use super::session::{Chat, is_unanswered};
use crate::commands::head::short_of;
use crate::failure::Failure;
use crate::look::Ink;
use crate::steps::told_of_step;
use crate::talk::open;
use crate::text::harmless_lines;
use crate::words::chatting as words;

impl Chat<'_> {
    pub(super) async fn tell_after(&mut self, after: After, response: Response) -> Result<(), Failure> {
        let Response::Changed(moved) = response else {
            return match after {
                After::Nothing => Ok(()),
                _ => self.tell(Ink::Faint, words::DONE),
            };
        };
        if self.session.as_deref() != Some(moved.continues_in()) {
            return self.go_on_in(&moved).await;
        }
        match after {
            After::Nothing => return Ok(()),
            After::Done => return self.tell(Ink::Faint, words::DONE),
            After::Labelled(_) | After::Renamed(_) if !moved.changed => {
                return self.tell(Ink::Faint, words::IS_SO_ALREADY);
            }
            After::Labelled(label) => {
                let text = words::labelled(&self.spoken_place(moved.place.as_ref()), label.as_deref());
                return self.tell(Ink::Faint, &text);
            }
            After::Renamed(title) => return self.tell(Ink::Faint, &words::renamed(title.as_deref())),
            After::Undone | After::Redone => {
                if let Some(step) = moved.operation.as_ref().map(told_of_step) {
                    let text = if after == After::Undone { words::undid(&step) } else { words::redid(&step) };
                    self.tell(Ink::Faint, &text)?;
                }
                if moved.head_before.at == moved.head.at {
                    return Ok(());
                }
            }
            After::Moved if moved.head_before.at == moved.head.at && moved.version.is_none() => {
                self.tell(Ink::Faint, words::IS_THERE_ALREADY)?;
            }
            After::Moved => {
                if let Some(version) = &moved.version {
                    self.tell(Ink::Faint, &words::version_line(version.index, version.total))?;
                }
            }
            After::Rewound(_) => {}
        }
        self.tell_place(&after).await?;
        self.give_back(&moved)
    }

    /// `#2` for a turn; before the first prompt the id of the entry.
    fn spoken_place(&self, place: Option<&PlaceView>) -> String {
        match place {
            Some(place) if place.number > 0 => format!("#{}", place.number),
            place => short_of(place, &self.here.look),
        }
    }

    /// A fork, or a change of settings, has made a session of its own.
    pub(super) async fn go_on_in(&mut self, moved: &Changed) -> Result<(), Failure> {
        if let Err(error) = self.open(moved.continues_in(), Some(0)).await {
            self.is_refused(&error);
            return Ok(());
        }
        let name = self.storage.short(self.here, &moved.continues_in().into());
        self.tell(Ink::Faint, &words::goes_on_in(&name))?;
        self.give_back(moved)
    }

    /// Words that were picked. A line that is being typed cannot be filled in, so they are shown to be copied.
    fn give_back(&mut self, moved: &Changed) -> Result<(), Failure> {
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
