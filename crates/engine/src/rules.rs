//! What need not be asked again, kept in one small file of the home.
//!
//! The file is written whole, under another name first, so that it is never half there. It is read again when it has
//! changed: an engine lives for hours, and the file may be edited or replaced meanwhile. A file that cannot be read allows
//! nothing and stops nothing: every use of a tool is asked for, and the file is left as it is until it is repaired.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use jiff::Timestamp;
use offshoot_session::SessionId;
use offshoot_session::asks::{Rule, RuleId, RulePattern, Rules, Scope};
use offshoot_store::private;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

#[derive(Clone, Debug, Default)]
pub struct RuleBook {
    kept: Arc<Mutex<Kept>>,
    /// `None`: they live as long as the program.
    path: Option<PathBuf>,
}

/// The rules in force, and the state of the file when they were read.
#[derive(Clone, Debug, Default)]
struct Kept {
    rules: Rules,
    seen: Option<FileState>,
    /// It was reported that the file cannot be read.
    is_reported: bool,
}

/// A file of the same inode, length and time has the same content; ours is always replaced by another one.
type FileState = (u64, u64, SystemTime);

#[derive(Debug, Error)]
pub enum RuleBookError {
    #[error("could not {doing} the permission rules in `{}`: {source}", path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("`{}` is not a list of permission rules: {source}", path.display())]
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
    pattern: PatternOnDisk,
    made_at: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScopeOnDisk {
    Session,
    Project,
}

/// Lists of the first format say `exactly`, `beginning` and `anything`. A rule that would not be offered today is dropped, so
/// that no list shows a rule that allows nothing.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "matches", content = "command", rename_all = "snake_case")]
enum PatternOnDisk {
    #[serde(alias = "exactly")]
    Exact(String),
    #[serde(alias = "beginning")]
    Prefix(String),
    File(String),
    #[serde(alias = "anything")]
    AnyFile,
    Input(Value),
}

const VERSION: u32 = 2;

impl RuleBook {
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// The rules in this file; none if it does not exist or cannot be read.
    pub fn at(path: PathBuf) -> Self {
        let kept = read(&path).unwrap_or_default();
        Self { kept: Arc::new(Mutex::new(kept)), path: Some(path) }
    }

    /// Why the rules cannot be read, the first time that this is asked while it is so.
    pub fn problem_to_report(&self) -> Option<RuleBookError> {
        let mut kept = self.kept();
        let problem = self.refresh(&mut kept).err();
        let was_reported = std::mem::replace(&mut kept.is_reported, problem.is_some());
        problem.filter(|_| !was_reported)
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

    /// All rules. Fails if the file cannot be read: a list without them would be wrong.
    pub fn all(&self) -> Result<Vec<Rule>, RuleBookError> {
        let mut kept = self.kept();
        self.refresh(&mut kept)?;
        Ok(kept.rules.iter().cloned().collect())
    }

    pub fn reaching(&self, session: &SessionId, project: Option<&str>) -> Rules {
        self.current().rules.reaching(session, project)
    }

    /// In force only when it is kept. A file that was broken meanwhile is not overwritten.
    fn change(&self, change: impl FnOnce(&mut Rules) -> bool) -> Result<(), RuleBookError> {
        let mut kept = self.kept();
        self.refresh(&mut kept)?;
        let mut rules = kept.rules.clone();
        if change(&mut rules) {
            if let Some(path) = &self.path {
                write(path, &rules)?;
            }
            *kept = Kept { rules, seen: self.path.as_deref().and_then(state_of), is_reported: false };
        }
        Ok(())
    }

    /// As the file has them now; none if it cannot be read.
    fn current(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.kept();
        let _ = self.refresh(&mut kept);
        kept
    }

    fn refresh(&self, kept: &mut Kept) -> Result<(), RuleBookError> {
        let Some(path) = self.path.as_deref().filter(|path| state_of(path) != kept.seen) else {
            return Ok(());
        };
        match read(path) {
            Ok(read) => {
                *kept = read;
                Ok(())
            }
            Err(error) => {
                // The file may have been changed to revoke one of them, so none stays in force. It is read again the next time.
                *kept = Kept { is_reported: kept.is_reported, ..Kept::default() };
                Err(error)
            }
        }
    }

    /// Replaced as a whole, so a thread that died here left nothing half done. Nobody awaits while holding it.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state is taken first: what is written in between is read again the next time.
fn read(path: &Path) -> Result<Kept, RuleBookError> {
    let seen = state_of(path);
    let about = |source| RuleBookError::File { doing: "read", path: path.to_owned(), source };
    let rules = match private::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Rules::default(),
        read => {
            let bytes = read.map_err(about)?;
            let on_disk: OnDisk = serde_json::from_slice(&bytes)
                .map_err(|source| RuleBookError::Unreadable { path: path.to_owned(), source })?;
            let rules = on_disk.rules.into_iter().map(RuleOnDisk::into_rule);
            Rules::new(rules.filter(|rule| rule.pattern.is_offered(&rule.tool)))
        }
    };
    Ok(Kept { rules, seen, is_reported: false })
}

fn state_of(path: &Path) -> Option<FileState> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.len(), found.modified().ok()?))
}

fn write(path: &Path, rules: &Rules) -> Result<(), RuleBookError> {
    let on_disk = OnDisk { version: VERSION, rules: rules.iter().map(RuleOnDisk::from).collect() };
    let unreadable = |source| RuleBookError::Unreadable { path: path.to_owned(), source };
    let bytes = serde_json::to_vec_pretty(&on_disk).map_err(unreadable)?;
    let written = || {
        if let Some(folder) = path.parent() {
            private::create_directory(folder)?;
        }
        private::replace(path, &bytes)
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
            pattern: match self.pattern {
                PatternOnDisk::Exact(command) => RulePattern::Exact(command),
                PatternOnDisk::Prefix(words) => {
                    RulePattern::Prefix(words.split(' ').map(str::to_owned).collect())
                }
                PatternOnDisk::File(path) => RulePattern::File(path),
                PatternOnDisk::AnyFile => RulePattern::AnyFile,
                PatternOnDisk::Input(input) => RulePattern::Input(input),
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
            pattern: match &rule.pattern {
                RulePattern::Exact(command) => PatternOnDisk::Exact(command.clone()),
                RulePattern::Prefix(words) => PatternOnDisk::Prefix(words.join(" ")),
                RulePattern::File(path) => PatternOnDisk::File(path.clone()),
                RulePattern::AnyFile => PatternOnDisk::AnyFile,
                RulePattern::Input(input) => PatternOnDisk::Input(input.clone()),
            },
            made_at: rule.made_at.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D7: two words became a beginning, and an input without a text `command` became "anything".
    #[test]
    fn rules_of_the_first_format_count_as_far_as_they_would_be_offered() {
        let rule = |id: &str, tool: &str, pattern: &str| {
            format!(
                r#"{{"id":"{id}","scope":"project","session":"s","project":"/p","tool":"{tool}",{pattern},"made_at":"2025-01-01T00:00:00Z"}}"#
            )
        };
        let rules = [
            rule("gone-1", "shell", r#""matches":"beginning","command":"rm junk.txt""#),
            rule("gone-2", "shell", r#""matches":"beginning","command":"find .""#),
            rule("gone-3", "shell", r#""matches":"beginning","command":"git *""#),
            rule("gone-4", "shell", r#""matches":"anything""#),
            rule("stays-1", "shell", r#""matches":"beginning","command":"cargo test""#),
            rule("stays-2", "shell", r#""matches":"exactly","command":"rm junk.txt""#),
            rule("stays-3", "write", r#""matches":"anything""#),
        ];
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("permissions.json");
        std::fs::write(&path, format!(r#"{{"version":1,"rules":[{}]}}"#, rules.join(","))).expect("own file");
        let all = RuleBook::at(path).all().expect("a list");
        let ids: Vec<&str> = all.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids, ["stays-1", "stays-2", "stays-3"]);
    }

    /// The rules of before stayed in force as long as the engine ran.
    #[test]
    fn a_file_that_is_damaged_allows_nothing_until_it_is_repaired() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("permissions.json");
        let rule = r#"{"id":"r","scope":"project","session":"s","project":"/p","tool":"shell","matches":"exact","command":"ls","made_at":"2025-01-01T00:00:00Z"}"#;
        let list = format!(r#"{{"version":2,"rules":[{rule}]}}"#);
        std::fs::write(&path, &list).expect("own file");
        let book = RuleBook::at(path.clone());
        let count = || book.reaching(&"s".into(), Some("/p")).iter().count();
        assert_eq!(count(), 1);
        std::fs::write(&path, "nonsense").expect("own file");
        assert_eq!(count(), 0);
        assert!(book.all().is_err() && book.revoke(&RuleId::named("r".to_owned())).is_err());
        assert!(
            book.problem_to_report().is_some() && book.problem_to_report().is_none(),
            "it is reported once"
        );
        assert_eq!(count(), 0);
        std::fs::write(&path, list).expect("own file");
        assert_eq!(count(), 1, "repaired");
    }
}
