//! What should happen, decided without acting.
//!
//! A plan is the records of one operation: they are appended together or not at all, and undo takes them back as
//! a whole. Functions here only read the tree; time and new ids come from [`Stamps`]. Applying a plan is
//! [`SessionTree::extended`]; a plan that is refused leaves no trace, and a plan that would change nothing is
//! `None`, so that the list of steps holds only steps.
//!
//! | what a person wants | module |
//! |---|---|
//! | to say something | [`send`] |
//! | to say it differently, or again | [`edit`], [`retry`] |
//! | to edit a reply or a tool result | [`edit_message`] |
//! | to see another version of it | [`version`] |
//! | to go somewhere, to rewind, to branch off | [`switch`] |
//! | to pick an entry of the tree, with a summary of what is left | [`navigation`] |
//! | to work beside the main head | [`heads`] |
//! | to bring what was said elsewhere | [`append`] |
//! | to change model, tools, permissions | [`config`], [`branching`] |
//! | an agent to go back | [`rewind`] |
//! | to give names | [`naming`] |
//! | to put away, to clear away | [`archive`], [`prune`] |
//! | to go on in another session | [`fork`] |
//! | a session that can be taken back as a whole | [`birth`] |
//! | to take a step back, or again | [`history`] |

pub mod append;
pub mod archive;
pub mod birth;
pub mod branching;
pub mod child;
mod child_title;
pub mod config;
pub mod edit;
pub mod edit_message;
pub mod fork;
pub mod heads;
pub mod history;
pub mod naming;
pub mod navigation;
pub mod prune;
pub mod retry;
pub mod rewind;
pub mod send;
pub mod switch;
pub mod version;

pub use append::{AppendSteps, ManyAppended, NotAppended, WhyNotAppended, plan_append};
pub use archive::{ArchiveRefused, plan_archive};
pub use birth::{BeginningRefused, OtherSide, born, other_side, plan_forked, plan_undo_beginning};
pub use branching::{ConfigChangeBranching, ConfigChangeWay};
pub use child::{Child, Difference, NewChild, plan_child};
pub use config::{ConfigRefused, plan_config_change, plan_config_session, splits_configuration};
pub use edit::{EditRefused, plan_edit, plan_edit_with_files, prompt_with_new_text};
pub use edit_message::{EditedMessage, edited_message, plan_edit_message};
pub use fork::{
    BeforePrompt, Fork, ForkPosition, ForkRefused, ForkScope, NewSession, before_prompt, branched_session,
    fork_records, inherited_binding,
};
pub use heads::{AppendRefused, Appended, NewHeadRefused, append_at_head, plan_new_head};
pub use history::{NothingToRedo, NothingToUndo, plan_redo, plan_undo, step_of};
pub use naming::{NamingRefused, plan_branch_name, plan_label, plan_rename};
pub use navigation::{
    Navigation, NavigationRefused, SummaryChoice, WrittenSummary, branch_with_summary, plan_navigation,
    plan_navigation_to,
};
pub use prune::{plan_prune, prunable};
pub use retry::{RetryRefused, plan_retry, replace_unanswered};
pub use rewind::{
    AgentRewind, RewindRefused, RewindScope, agent_may_preview, agent_may_rewind, agent_rewind,
};
pub use send::{SendRefused, Sent, plan_send, plan_send_aside, plan_send_at};
pub use switch::{SwitchRefused, plan_fork, plan_move_head, plan_rewind_conversation, plan_switch};
pub use version::{VersionRefused, VersionStep, plan_version};

use crate::{
    Body, Entry, EntryId, Fact, HeadMove, HeadName, OperationId, Record, SessionTree, Stamps, TurnId,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub operation: OperationId,
    pub records: Vec<Record>,
}

impl Plan {
    /// Begins an operation under the name that the list of steps shows.
    pub fn named(name: impl Into<String>, stamps: &mut dyn Stamps) -> Self {
        let operation = stamps.operation_id();
        let mut plan = Self { operation, records: Vec::new() };
        plan.push(Record::marked(stamps.now(), Fact::Operation { name: name.into() }));
        plan
    }

    pub fn push(&mut self, record: Record) {
        self.records.push(record.in_operation(self.operation.clone()));
    }

    /// Writes an entry below `parent` and gives its id.
    fn write(
        &mut self,
        parent: Option<EntryId>,
        turn: Option<TurnId>,
        body: Body,
        stamps: &mut dyn Stamps,
    ) -> EntryId {
        let id = stamps.entry_id();
        self.push(Record::entry(Entry { id: id.clone(), parent, written_at: stamps.now(), turn, body }));
        id
    }

    /// Moves a head from where the tree has it.
    fn move_head(
        &mut self,
        tree: &SessionTree,
        head: &HeadName,
        to: Option<EntryId>,
        stamps: &mut dyn Stamps,
    ) {
        let from = tree.head(head).cloned();
        self.push(Record::head_moved(HeadMove { head: head.clone(), moved_at: stamps.now(), from, to }));
    }
}
