//! What a format has no place for, in words. Writing never drops a thing in silence.

use std::fmt;

use offshoot_session::EntryId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub what: Loss,
    pub count: u64,
    /// The first entry it happened to, where it happened to an entry.
    pub example: Option<EntryId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The program resumes at the last line, and the head is elsewhere.
    Head,
    OtherHeads,
    Labels,
    Titles,
    AutomaticTitle,
    ClearedTitle,
    BranchNames,
    Checkpoints,
    Bindings,
    Archived,
    Turns,
    /// The list of steps, and with it undo.
    Steps,
    UndoneSteps,
    MergeSides,
    Settings,
    Interruptions,
    Clearings,
    /// The target keeps what the model reads, or cannot tell that the model reads a message differently.
    ContextEdits,
    /// Entries of kinds that neither side knows.
    ForeignEntries,
    EntryIds,
    Branches,
    /// Where in its parent the session began, and why.
    Lineage,
    /// Written as words of the person, because the model has to read them.
    PlainMessages,
    Notes,
    Costs,
    UnreadLines,
    /// Thinking that the target would refuse or cannot check.
    Thinking,
    UnansweredCalls,
    ResultsWithoutCall,
    FailedReplies,
    /// What the program said about itself and its surroundings.
    Instructions,
    /// What stands above a clearing.
    Forgotten,
    PrivateCommands,
    Images,
    /// Settings that mean nothing to another program.
    OtherSettings,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    /// Each with the place where it happened first.
    lost: Vec<(usize, Lost)>,
    place: usize,
}

impl Losses {
    /// Losses are listed in the order of their places, wherever they are counted. Without places, in the order in which
    /// they are counted.
    pub(crate) fn go_to(&mut self, place: usize) {
        self.place = place;
    }

    pub(crate) fn add(&mut self, what: Loss) {
        self.count(what, None);
    }

    pub(crate) fn add_at(&mut self, what: Loss, entry: &EntryId) {
        self.count(what, Some(entry));
    }

    pub(crate) fn into_list(mut self) -> Vec<Lost> {
        self.lost.sort_by_key(|(place, _)| *place);
        self.lost.into_iter().map(|(_, lost)| lost).collect()
    }

    fn count(&mut self, what: Loss, entry: Option<&EntryId>) {
        let place = self.place;
        match self.lost.iter_mut().find(|(_, lost)| lost.what == what) {
            Some((first, lost)) => {
                lost.count += 1;
                if place < *first {
                    *first = place;
                    lost.example = entry.cloned();
                }
            }
            None => self.lost.push((place, Lost { what, count: 1, example: entry.cloned() })),
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what.words())?;
        match &self.example {
            Some(example) if self.count > 1 => write!(f, " ({} times, first at `{example}`)", self.count),
            Some(example) => write!(f, " (at `{example}`)"),
            None if self.count > 1 => write!(f, " ({} times)", self.count),
            None => Ok(()),
        }
    }
}

impl Loss {
    pub fn words(self) -> &'static str {
        match self {
            Self::Head => "the position of the head: the conversation resumes at the last line",
            Self::OtherHeads => "heads beside the main one",
            Self::Labels => "labels",
            Self::Titles => "the title of the session",
            Self::AutomaticTitle => "that the title was not given by a person",
            Self::ClearedTitle => "that the title was taken away",
            Self::BranchNames => "names of branches",
            Self::Checkpoints => "checkpoints of files",
            Self::Bindings => "which session of the agent belongs to a branch",
            Self::Archived => "which branches are archived",
            Self::Turns => "which turn wrote an entry",
            Self::Steps => "the list of steps, so that they cannot be undone",
            Self::UndoneSteps => "what undo hides",
            Self::MergeSides => "the other side of a merge",
            Self::Settings => "settings that the format does not know; kept as a note",
            Self::Interruptions => "that a reply was cut off; kept as a note",
            Self::Clearings => "that the model forgets what is above; kept as a note",
            Self::ContextEdits => "context edits, which change or omit what the model reads of a message",
            Self::ForeignEntries => "entries of an unknown kind; kept as a note",
            Self::EntryIds => "ids of entries",
            Self::Lineage => "where in its parent the session began, and why",
            Self::Branches => "other branches",
            Self::PlainMessages => "the kind of a message; kept as words of the person",
            Self::Notes => "notes that the model does not read",
            Self::Costs => "tokens and money",
            Self::UnreadLines => "lines that could not be read",
            Self::Thinking => "thinking, which only the model that thought it may read again",
            Self::UnansweredCalls => "calls of tools that nothing answered",
            Self::ResultsWithoutCall => "results of tools that nobody called",
            Self::FailedReplies => "replies that failed or were cut off",
            Self::Instructions => "what the program told the model about itself",
            Self::Forgotten => "what stands above the point where everything was forgotten",
            Self::PrivateCommands => "commands that were kept from the model",
            Self::Images => "images that are kept elsewhere",
            Self::OtherSettings => "settings of another program",
        }
    }
}
