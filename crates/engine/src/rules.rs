//! What need not be asked again, kept in one small file of the home.
//!
//! The file is read once and written whole, beside itself and then in its own place, so that it is never half there.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use offshoot_session::SessionId;
use offshoot_session::asks::{Matches, Rule, RuleId, Rules, Scope};
use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Clone, Debug, Default)]
pub struct RuleBook {
    kept: Arc<Mutex<Rules>>,
    /// `None`: they live as long as the program.
    path: Option<PathBuf>,
}

#[derive(Debug, Error)]
pub enum RuleBookError {
    #[error("could not {doing} `{}`", path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("`{}` is no list of rules", path.display())]
    Unreadable { path: PathBuf, source: serde_json::Error },
}

#[derive(Debug, Serialize, Deserialize)]
struct OnDisk {
    version: u32,
    rules: Vec<RuleOnDisk>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RuleOnDisk {
    id: String,
    scope: ScopeOnDisk,
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    tool: String,
    #[serde(flatten)]
    matches: MatchesOnDisk,
    made_at: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScopeOnDisk {
    Session,
    Project,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "matches", content = "command", rename_all = "snake_case")]
enum MatchesOnDisk {
    Anything,
    Beginning(String),
    Exactly(String),
}

const VERSION: u32 = 1;

impl RuleBook {
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// The rules in this file; none where it does not exist.
    pub fn at(path: PathBuf) -> Result<Self, RuleBookError> {
        let about = |source| RuleBookError::File { doing: "read", path: path.clone(), source };
        let rules = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Rules::default(),
            read => {
                let bytes = read.map_err(about)?;
                let on_disk: OnDisk = serde_json::from_slice(&bytes)
                    .map_err(|source| RuleBookError::Unreadable { path: path.clone(), source })?;
                Rules::new(on_disk.rules.into_iter().map(RuleOnDisk::into_rule))
            }
        };
        Ok(Self { kept: Arc::new(Mutex::new(rules)), path: Some(path) })
    }

    /// Blocks while the file is written.
    pub fn add(&self, rule: Rule) -> Result<(), RuleBookError> {
        self.change(|rules| rules.add(rule))
    }

    /// `false`: there is no such rule. Blocks while the file is written.
    pub fn revoke(&self, id: &RuleId) -> Result<bool, RuleBookError> {
        let mut found = false;
        self.change(|rules| {
            found = rules.revoke(id).is_some();
            found
        })?;
        Ok(found)
    }

    pub fn all(&self) -> Vec<Rule> {
        self.kept().iter().cloned().collect()
    }

    pub fn reaching(&self, session: &SessionId, project: Option<&str>) -> Rules {
        self.kept().reaching(session, project)
    }

    /// In force only when it is kept.
    fn change(&self, change: impl FnOnce(&mut Rules) -> bool) -> Result<(), RuleBookError> {
        let mut kept = self.kept();
        let mut rules = kept.clone();
        if change(&mut rules) {
            if let Some(path) = &self.path {
                write(path, &rules)?;
            }
            *kept = rules;
        }
        Ok(())
    }

    /// Replaced as a whole, so a thread that died here left nothing half done. Nobody awaits while holding it.
    fn kept(&self) -> MutexGuard<'_, Rules> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(path: &Path, rules: &Rules) -> Result<(), RuleBookError> {
    let on_disk = OnDisk { version: VERSION, rules: rules.iter().map(RuleOnDisk::from).collect() };
    let unreadable = |source| RuleBookError::Unreadable { path: path.to_owned(), source };
    let bytes = serde_json::to_vec_pretty(&on_disk).map_err(unreadable)?;
    let beside = path.with_extension("new");
    let written = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    };
    written().map_err(|source| RuleBookError::File { doing: "write", path: path.to_owned(), source })
}

impl RuleOnDisk {
    /// A time that cannot be read is no reason to ask again.
    fn into_rule(self) -> Rule {
        Rule {
            id: RuleId::named(self.id),
            scope: match self.scope {
                ScopeOnDisk::Session => Scope::Session,
                ScopeOnDisk::Project => Scope::Project,
            },
            session: self.session.into(),
            project: self.project,
            tool: self.tool,
            matches: match self.matches {
                MatchesOnDisk::Anything => Matches::Anything,
                MatchesOnDisk::Beginning(words) => Matches::Beginning(words),
                MatchesOnDisk::Exactly(command) => Matches::Exactly(command),
            },
            made_at: self.made_at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
        }
    }
}

impl From<&Rule> for RuleOnDisk {
    fn from(rule: &Rule) -> Self {
        Self {
            id: rule.id.as_str().to_owned(),
            scope: match rule.scope {
                Scope::Session => ScopeOnDisk::Session,
                Scope::Project => ScopeOnDisk::Project,
            },
            session: rule.session.to_string(),
            project: rule.project.clone(),
            tool: rule.tool.clone(),
            matches: match &rule.matches {
                Matches::Anything => MatchesOnDisk::Anything,
                Matches::Beginning(words) => MatchesOnDisk::Beginning(words.clone()),
                Matches::Exactly(command) => MatchesOnDisk::Exactly(command.clone()),
            },
            made_at: rule.made_at.to_string(),
        }
    }
}
