//! Which Claude Code is installed. A version is asked for once and cached as long as the file is the same.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use offshoot_session::agent::{Environment, FailureKind, Host};

use super::launch::{Version, is_withheld};
use super::{NAME, TITLE};
use crate::ConnectError;
use crate::known::{self, Stated, version_of};

/// The first version that was measured; earlier ones lack options.
const OLDEST: Version = Version { major: 2, minor: 1, patch: 197 };

/// Versions by program and time of its last change.
#[derive(Debug, Default)]
pub(super) struct Probes(Mutex<BTreeMap<PathBuf, (SystemTime, String)>>);

#[derive(Clone, Debug)]
pub(super) struct Installed {
    pub(super) program: PathBuf,
    stated: Stated,
    /// It was given so long to state its version.
    limit: Duration,
}

impl Probes {
    pub(super) async fn installed(
        &self,
        host: &Host,
        environment: &Environment,
        limit: Duration,
    ) -> Result<Installed, ConnectError> {
        let program = found(host, environment).ok_or_else(not_installed)?;
        let changed_at = program.metadata().and_then(|about| about.modified()).ok();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&program).cloned();
        if let Some((_, stated)) = known.filter(|(at, _)| Some(*at) == changed_at) {
            return Ok(Installed { program, stated: Stated::Version(stated), limit });
        }
        let environment = environment.iter().filter(|(name, _)| !is_withheld(name));
        let environment: Environment =
            environment.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let asked = program.clone();
        let version = tokio::task::spawn_blocking(move || version_of(&asked, &environment, limit));
        let stated = version.await.unwrap_or(Stated::NoVersion);
        if let (Some(changed_at), Stated::Version(stated)) = (changed_at, &stated) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(program.clone(), (changed_at, stated.clone()));
        }
        Ok(Installed { program, stated, limit })
    }
}

impl Installed {
    /// As it states it.
    pub(super) fn version(&self) -> Option<&str> {
        match &self.stated {
            Stated::Version(version) => Some(version),
            Stated::NoVersion | Stated::Late => None,
        }
    }

    pub(super) fn supported(&self) -> Result<Version, ConnectError> {
        if self.stated == Stated::Late {
            let text = format!(
                "{TITLE} could not be started: `{} --version` did not answer within {} s",
                self.program.display(),
                self.limit.as_secs_f32()
            );
            return Err(ConnectError::Failed { kind: FailureKind::Process, text });
        }
        let version = self.version().and_then(|stated| stated.parse::<Version>().ok());
        version.filter(|version| *version >= OLDEST).ok_or_else(|| ConnectError::NotSupported {
            agent: TITLE.to_owned(),
            program: self.program.clone(),
            version: self.version().map(str::to_owned),
            oldest: OLDEST.to_string(),
            install: install(),
        })
    }
}

pub(super) fn found(host: &Host, environment: &Environment) -> Option<PathBuf> {
    match &host.program {
        Some(program) => Some(program.clone()).filter(|program| known::is_executable(program)),
        None => {
            let path = environment.get("PATH").unwrap_or_default();
            let folders = path.as_bytes().split(|byte| *byte == b':');
            let folders: Vec<PathBuf> =
                folders.map(|folder| Path::new(OsStr::from_bytes(folder)).to_owned()).collect();
            known::named(NAME)?.found_in(&folders)
        }
    }
}

fn not_installed() -> ConnectError {
    ConnectError::NotInstalled { agent: TITLE.to_owned(), install: Some(install()) }
}

fn install() -> &'static str {
    known::named(NAME).map_or("", |program| program.install)
}
