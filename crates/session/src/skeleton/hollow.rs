//! A body of which only the kind is known.

use serde_json::Value;

use super::Kind;
use crate::in_force::INJECTED_RULES;
use crate::{
    Body, BranchSummary, Compaction, ContextEdit, CustomMessage, FileLists, Foreign, Interruption, Merge,
    Model, Note, Prompt, Reply, Setting, Shell, System, ToolResult,
};

impl Kind {
    /// Says nothing: it holds the place of words that nobody looks at.
    pub fn hollow(self) -> Body {
        let nobody = || Model { provider: String::new(), name: String::new() };
        match self {
            Self::Prompt => Body::Prompt(Prompt::default()),
            Self::Reply => Body::Reply(Reply::default()),
            Self::ToolResult => Body::ToolResult(ToolResult {
                call: "".into(),
                tool: String::new(),
                blocks: Vec::new(),
                failed: false,
                usage: None,
                changed_input: None,
            }),
            Self::Shell => Body::Shell(Shell::default()),
            Self::Interrupted => Body::Interrupted(Interruption::Wanted),
            Self::BranchSummary => Body::BranchSummary(BranchSummary {
                summary: String::new(),
                from: None,
                left: None,
                files: FileLists::default(),
                details: None,
                from_extension: false,
                usage: None,
            }),
            Self::Compaction => Body::Compaction(Compaction {
                summary: String::new(),
                first_kept: None,
                tokens_before: 0,
                files: FileLists::default(),
                details: None,
                from_extension: false,
                usage: None,
                system: None,
            }),
            Self::Merge => Body::Merge(Merge { from: "".into(), summary: None }),
            Self::CustomMessage => Body::CustomMessage(CustomMessage {
                kind: String::new(),
                blocks: Vec::new(),
                display: false,
                attribution: None,
            }),
            Self::Note => Body::Note(Note { kind: String::new(), data: None }),
            Self::System => Body::System(System { text: String::new() }),
            Self::Cleared => Body::Cleared,
            Self::ContextEdit => Body::ContextEdit(ContextEdit { target: "".into(), replacement: None }),
            Self::Foreign => Body::Foreign(Foreign { kind: String::new(), text: None }),
            Self::AgentSetting => Body::Setting(Setting::Agent(String::new())),
            Self::ModelSetting => Body::Setting(Setting::Model { role: None, model: nobody() }),
            Self::RoleModelSetting => {
                Body::Setting(Setting::Model { role: Some(String::new()), model: nobody() })
            }
            Self::ThinkingSetting => Body::Setting(Setting::Thinking(None)),
            Self::ToolsSetting => Body::Setting(Setting::Tools(Vec::new())),
            Self::PermissionSetting => Body::Setting(Setting::PermissionMode(String::new())),
            Self::ModeSetting => Body::Setting(Setting::Mode { mode: String::new(), data: None }),
            Self::ServiceTierSetting => Body::Setting(Setting::ServiceTier(None)),
            Self::ConfigSetting => Body::Setting(Setting::Config(Value::Null)),
            Self::InjectedRules => Body::Foreign(Foreign { kind: INJECTED_RULES.to_owned(), text: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hollow_body_is_of_its_kind() {
        let kinds: Vec<Kind> = (0..=u8::MAX).filter_map(Kind::numbered).collect();
        assert!(kinds.len() > 20);
        for kind in kinds {
            assert_eq!(Kind::of(&kind.hollow()), kind);
        }
    }
}
