//! Sessions, branches, entries and asks as they are seen from outside. Each is made from the domain by one function, and
//! nothing of the domain is made from them but prompts and answers.

pub mod ability;
pub mod ask;
pub mod engine;
pub mod entry;
pub mod operation;
pub mod place;
pub mod session;
pub mod time;

pub use ability::{AbilitiesView, AbilityView, AgentModelView, abilities_by_name, differing};
pub use ask::{
    AnswerView, AskView, AskingView, ChoiceView, OfferName, OfferView, QuestionView, RuleView, ScopeView,
};
pub use engine::EngineView;
pub use entry::{BlockView, BodyView, ElidedView, EntryView, ModelView, PromptView, SettingView, UsageView};
pub use operation::OperationView;
pub use place::{PlaceView, VersionBrief};
pub use session::{
    AgentView, BoundView, BranchView, ContextView, FileChangeView, HeadView, MissingView, ProvenanceView,
    ProviderView, QueuedView, SessionBrief, SessionRow, SessionView, SpentView, StatusRow, StatusView,
    SubAgentView, TreeRow, VersionView, abilities,
};
