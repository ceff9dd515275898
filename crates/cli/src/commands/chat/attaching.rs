//! Files that go with the next message, until it is said.

use std::path::{Path, PathBuf};

use super::session::Chat;
use super::typed::Attach;
use crate::attached::{Attached, Attachments, must_fit};
use crate::failure::Failure;
use crate::look::Ink;
use crate::words::attached as words;

impl Chat<'_> {
    pub(super) fn attach(&mut self, attach: Attach) -> Result<(), Failure> {
        match attach {
            Attach::List => self.tell_attached(),
            Attach::Nothing => {
                self.attached.clear();
                self.tell(Ink::Faint, words::NONE)
            }
            Attach::File(name) => match self.with_one_more(&name) {
                Ok(told) => self.tell(Ink::Faint, &told),
                Err(failure) => {
                    self.complain(&failure);
                    Ok(())
                }
            },
        }
    }

    /// What was attached goes with this message.
    pub(super) fn attachments(&self) -> Attachments {
        Attachments::of(&self.attached, &self.project())
    }

    /// The same for a version of an old one, which keeps its own where nothing was attached.
    pub(super) fn own_attachments(&self) -> Option<Attachments> {
        (!self.attached.is_empty()).then(|| self.attachments())
    }

    fn with_one_more(&mut self, name: &str) -> Result<String, Failure> {
        let one = Attached::look_at(Path::new(name))?;
        let told = one.told(&self.project());
        if self.attached.iter().any(|known| known.is_same_file(&one)) {
            return Ok(words::goes_along_already(&told));
        }
        self.attached.push(one);
        must_fit(&self.attached).inspect_err(|_| drop(self.attached.pop()))?;
        Ok(words::goes_along(&told))
    }

    fn tell_attached(&mut self) -> Result<(), Failure> {
        let project = self.project();
        let told: Vec<String> = self.attached.iter().map(|one| one.told(&project)).collect();
        let line = if told.is_empty() { words::NONE.to_owned() } else { words::go_along(&told) };
        self.tell(Ink::Faint, &line)
    }

    /// The folder that the agent works in.
    fn project(&self) -> PathBuf {
        self.project.clone().unwrap_or_else(|| self.here.folder.clone())
    }
}
