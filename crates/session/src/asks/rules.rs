//! Permission rules: what need not be asked again.

use jiff::Timestamp;

use super::{Permission, RulePattern};
use crate::SessionId;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(String);

/// How far a rule reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Session,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub id: RuleId,
    pub scope: Scope,
    /// The session it was made in; a rule of a project reaches further.
    pub session: SessionId,
    pub project: Option<String>,
    pub tool: String,
    pub pattern: RulePattern,
    pub made_at: Timestamp,
}

/// How much "always" allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Exact,
    Wider,
}

/// One of the ways to say "always".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub scope: Scope,
    pub reach: Reach,
    pub pattern: RulePattern,
}

impl Offer {
    /// All that a person may choose from: the exact ones first, a wider rule only where there is one.
    pub fn all(permission: &Permission) -> Vec<Self> {
        let exact = (Reach::Exact, RulePattern::exact(permission));
        let patterns = std::iter::once(exact)
            .chain(RulePattern::wider(permission).map(|pattern| (Reach::Wider, pattern)));
        let offers = patterns.flat_map(|(reach, pattern)| {
            [Scope::Session, Scope::Project].map(|scope| Self { scope, reach, pattern: pattern.clone() })
        });
        offers.collect()
    }

    pub fn find(permission: &Permission, scope: Scope, reach: Reach) -> Option<Self> {
        Self::all(permission).into_iter().find(|offer| offer.scope == scope && offer.reach == reach)
    }
}

/// The rules that reach a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl RuleId {
    pub fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Rules {
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect() }
    }

    /// A rule that says what another says already is not added.
    pub fn add(&mut self, rule: Rule) -> bool {
        let is_new = !self.rules.iter().any(|known| {
            known.scope == rule.scope
                && known.session == rule.session
                && known.project == rule.project
                && known.tool == rule.tool
                && known.pattern == rule.pattern
        });
        if is_new {
            self.rules.push(rule);
        }
        is_new
    }

    pub fn revoke(&mut self, id: &RuleId) -> Option<Rule> {
        let at = self.rules.iter().position(|rule| rule.id == *id)?;
        Some(self.rules.remove(at))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Those that count in this session.
    pub fn reaching(&self, session: &SessionId, project: Option<&str>) -> Self {
        let reaches = |rule: &&Rule| match rule.scope {
            Scope::Session => rule.session == *session,
            Scope::Project => project.is_some() && rule.project.as_deref() == project,
        };
        Self { rules: self.rules.iter().filter(reaches).cloned().collect() }
    }

    /// The rule that allows this, if one does.
    pub fn allow(&self, permission: &Permission) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.tool == permission.tool && rule.pattern.covers(permission))
    }
}
