//! Titles, and what a list of sessions says, from the lines of a file alone.

use jiff::Timestamp;
use offshoot_session::wrappers::unwrapped;
use offshoot_session::{Block, Body, Fact, Prompt, TitleSource};
use serde_json::json;

use super::draft::{Asides, Draft, What};
use crate::json::{Map, text};
use crate::lines::{Content, lines};

/// What can be said about a session without its tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub session: Option<String>,
    /// What a person called it: the last one counts, and an empty one takes the name away.
    pub name: Option<String>,
    /// What the program called it.
    pub automatic_title: Option<String>,
    /// The first words of a person, without what an editor added.
    pub first_prompt: Option<String>,
    /// The file belongs to a sub-agent: its first line of conversation says so.
    pub is_sidechain: bool,
    pub project: Option<String>,
    pub git_branch: Option<String>,
    /// Of the program that wrote last.
    pub version: Option<String>,
    pub opened_at: Option<Timestamp>,
    pub active_at: Option<Timestamp>,
}

impl Listing {
    /// What a person called it; else what the program did.
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref().or(self.automatic_title.as_deref())
    }
}

/// Reads what a list needs, in one pass.
pub fn listing(bytes: &[u8]) -> Listing {
    let mut listing = Listing::default();
    let mut has_conversation = false;
    for line in lines(bytes) {
        let Content::Object(map) = line.content else { continue };
        let draft = Draft::new(&map);
        fill(&mut listing.session, draft.session.as_deref().map(str::to_owned));
        match draft.what {
            What::Entry { body, .. } => {
                if !has_conversation {
                    listing.is_sidechain = draft.is_sidechain;
                }
                has_conversation = true;
                fill(&mut listing.project, Asides::of(&map).project);
                fill(&mut listing.git_branch, field(&map, "gitBranch"));
                fill(&mut listing.opened_at, draft.written_at);
                listing.version = field(&map, "version").or(listing.version);
                listing.active_at = listing.active_at.max(draft.written_at);
                if let Body::Prompt(prompt) = &body
                    && draft.is_sidechain == listing.is_sidechain
                {
                    fill(&mut listing.first_prompt, first_words(prompt));
                }
            }
            What::Fact(Fact::Title { title, source }) => {
                let title = title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
                match source {
                    TitleSource::User => listing.name = title,
                    TitleSource::Auto => listing.automatic_title = title,
                }
            }
            What::Fact(_)
            | What::Pass
            | What::Summary { .. }
            | What::Leaf(_)
            | What::Setting(_)
            | What::CostSoFar(_)
            | What::Silent
            | What::Nameless => {}
        }
    }
    listing
}

/// The line that names a session, to be appended to its file; an empty title takes the name away. A file that does
/// not end with a line ending needs one first.
pub fn title_line(session: &str, title: &str) -> Vec<u8> {
    let line = json!({ "type": "custom-title", "customTitle": title, "sessionId": session });
    format!("{line}\n").into_bytes()
}

fn fill<T>(place: &mut Option<T>, value: Option<T>) {
    if place.is_none() {
        *place = value;
    }
}

fn field(map: &Map, key: &str) -> Option<String> {
    text(map, key).filter(|value| !value.is_empty()).map(str::to_owned)
}

fn first_words(prompt: &Prompt) -> Option<String> {
    prompt.blocks.iter().find_map(|block| match block {
        Block::Text(words) => Some(unwrapped(words).into_owned()).filter(|words| !words.trim().is_empty()),
        Block::Thinking(_) | Block::Image { .. } | Block::ToolUse(_) | Block::Other { .. } => None,
    })
}
