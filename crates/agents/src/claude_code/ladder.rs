//! How Claude Code comes to know a branch: the rungs of a handoff, tried in order until its process opens.

use std::io;
use std::path::{Path, PathBuf};

use offshoot_session::agent::{AgentStart, PathSource};
use offshoot_session::handoff::{Handoff, Reconstruction, reconstruct};
use offshoot_session::{AgentSessionId, Body, EntryId, Missing, Model, Provenance, Setting};

use super::driver::{Driver, FirstPrompt, NotOpened};
use super::launch::{LaunchCase, LaunchSpec, Version, arguments, is_withheld, variables};
use super::models::{KnownModels, Origin};
use super::protocol::Opening;
use super::sessions::{ClaudeHome, Point, Reach};
use super::{DEFAULT_MODE, Limits, NAME, TITLE};
use crate::process::{self, Launch, RUN_VARIABLE};
use crate::{AgentConnection, ConnectError};

/// One way to open a session that has the branch.
#[derive(Clone, Debug, PartialEq)]
enum Rung {
    New,
    Continue {
        session: AgentSessionId,
    },
    Fork {
        from: AgentSessionId,
        at: Option<EntryId>,
    },
    /// Its own lines, copied into a new transcript.
    Extract {
        from: AgentSessionId,
        at: Option<EntryId>,
    },
    /// Its own lines as far as it has the branch, and behind them the entries that it lacks, in a new transcript.
    Complete {
        from: AgentSessionId,
    },
    /// The entries of the branch, written as a new transcript.
    Rebuild,
    /// The branch as text, in front of the first prompt. `None`: it is made from the entries.
    Replay(Option<Reconstruction>),
}

/// A rung whose files are written.
struct Prepared {
    session: AgentSessionId,
    case: Case,
    missing: Missing,
    replay: Option<String>,
}

enum Case {
    New,
    Resume,
    Fork { from: AgentSessionId, at: Option<EntryId> },
}

pub(super) async fn connect(
    start: AgentStart,
    program: PathBuf,
    version: Version,
    limits: Limits,
    models: &KnownModels,
) -> Result<AgentConnection, ConnectError> {
    let origin = Origin::of(&program, &start.environment);
    let environment = start.environment.clone();
    let home = blocking(move || ClaudeHome::of(&environment)).await?;
    let rungs = {
        let (home, handoff) = (home.clone(), start.handoff.clone());
        blocking(move || rungs(&handoff, home.as_ref())).await??
    };
    let model = model_of(&start);
    let mut given = session_of(&start.handoff);
    let mut last = None;
    for rung in rungs {
        // A name that a failed try may have taken is not used again.
        let new_session = match given.take() {
            Some(session) => session,
            None => fresh_uuid().map_err(not_started)?.into(),
        };
        let has_whole_branch = matches!(rung, Rung::Rebuild | Rung::Replay(_));
        let provenance = rung.provenance().filter(|by| *by != start.handoff.provenance());
        let prepared = {
            let (home, rung) = (home.clone(), rung.clone());
            let (context, workspace) = (start.context.clone(), start.workspace.clone());
            blocking(move || {
                prepare(rung, home.as_ref(), context.as_ref(), new_session, workspace.as_deref())
            })
            .await?
        };
        let Some(prepared) = prepared else { continue };
        let opening = Opening {
            session: prepared.session.clone(),
            is_continued: !matches!(prepared.case, Case::New),
            model: model.clone(),
            permission_mode: permission_mode(&start.settings).to_owned(),
            settings: start.settings.clone(),
            version,
            provenance,
            missing: prepared.missing,
            silence: limits.silence,
        };
        let launch = launch(&start, &program, version, &prepared, model.as_ref());
        match Driver::open(launch, opening, FirstPrompt { replay: prepared.replay, has_whole_branch }, limits)
            .await
        {
            Ok(driver) => {
                models.remember(origin, driver.models());
                return Ok(AgentConnection::served_by(move |inputs, events| driver.serve(inputs, events)));
            }
            Err(NotOpened::NoSession(error)) => last = Some(error),
            Err(NotOpened::Failed(error)) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| ConnectError::NotTakenUp {
        agent: TITLE.to_owned(),
        reason: "there is no way to give it the branch".to_owned(),
    }))
}

/// The rungs of a handoff, the most faithful first.
fn rungs(handoff: &Handoff, home: Option<&ClaudeHome>) -> Result<Vec<Rung>, ConnectError> {
    let fork = |from: &AgentSessionId, at: Option<&EntryId>| {
        let (from, at) = (from.clone(), at.cloned());
        [Rung::Fork { from: from.clone(), at: at.clone() }, Rung::Extract { from, at }]
    };
    let mut rungs = match handoff {
        // A name may be taken: the second try has another one.
        Handoff::New { .. } | Handoff::Stateless => return Ok(vec![Rung::New, Rung::New]),
        Handoff::Replay { text, .. } => return Ok(vec![Rung::Replay(Some(text.clone()))]),
        Handoff::Continue { session, at } => {
            if let Some(elsewhere) = home.and_then(|home| home.elsewhere(session, &process::is_ours)) {
                return Err(ConnectError::Elsewhere { agent: TITLE.to_owned(), elsewhere });
            }
            match at.as_ref().zip(home).map(|(at, home)| home.reach(session, at)) {
                Some(Reach::Further) => fork(session, at.as_ref()).to_vec(),
                Some(Reach::Short) => vec![Rung::Complete { from: session.clone() }],
                Some(Reach::There) | None => vec![
                    Rung::Continue { session: session.clone() },
                    Rung::Extract { from: session.clone(), at: at.clone() },
                ],
            }
        }
        Handoff::Fork { from, at, .. } => {
            let [native, extraction] = fork(from, at.as_ref());
            match (at, home) {
                (Some(at), Some(home)) => match home.point(from, at) {
                    Point::Active => vec![native, extraction],
                    Point::OtherBranch | Point::BeforeCompaction => vec![extraction],
                    Point::Missing => vec![Rung::Complete { from: from.clone() }],
                },
                (None, _) | (_, None) => vec![native, extraction],
            }
        }
        Handoff::Rebuild { .. } => Vec::new(),
    };
    rungs.extend([Rung::Rebuild, Rung::Replay(None)]);
    Ok(rungs)
}

/// Writes the files that a rung needs. `None`: they cannot be written.
fn prepare(
    rung: Rung,
    home: Option<&ClaudeHome>,
    context: &dyn PathSource,
    new_session: AgentSessionId,
    workspace: Option<&Path>,
) -> Option<Prepared> {
    let prepared = |session, case| Prepared { session, case, missing: Missing::default(), replay: None };
    match rung {
        Rung::New => Some(prepared(new_session, Case::New)),
        Rung::Continue { session } => Some(prepared(session, Case::Resume)),
        Rung::Fork { from, at } => Some(prepared(new_session, Case::Fork { from, at })),
        Rung::Extract { from, at } => {
            home?.extract(&from, at.as_ref(), &new_session, workspace?).ok()?;
            Some(prepared(new_session, Case::Resume))
        }
        Rung::Complete { from } => {
            let missing = home?.complete(&from, context, &new_session, workspace?).ok()?;
            Some(Prepared { missing, ..prepared(new_session, Case::Resume) })
        }
        Rung::Rebuild => {
            let missing = home?.rebuild(context.entries(), &new_session, workspace?).ok()?;
            Some(Prepared { missing, ..prepared(new_session, Case::Resume) })
        }
        Rung::Replay(text) => {
            let text = text.unwrap_or_else(|| {
                let path: Vec<_> = context.entries().collect();
                reconstruct(&path.iter().collect::<Vec<_>>(), &[])
            });
            let (missing, replay) = (text.missing, Some(text.text));
            Some(Prepared { missing, replay, ..prepared(new_session, Case::New) })
        }
    }
}

fn launch(
    start: &AgentStart,
    program: &Path,
    version: Version,
    prepared: &Prepared,
    model: Option<&Model>,
) -> Launch {
    let session = &prepared.session;
    let case = match &prepared.case {
        Case::New => LaunchCase::New { session },
        Case::Resume => LaunchCase::Resume { session },
        Case::Fork { from, at } => LaunchCase::Fork { from, at: at.as_ref(), session },
    };
    let spec = LaunchSpec {
        case,
        model: model.map(|model| model.name.as_str()),
        permission_mode: permission_mode(&start.settings),
        tools: tools(&start.settings),
        version,
    };
    let theirs = start.environment.iter().filter(|(name, _)| !is_withheld(name));
    let mut environment: Vec<_> = theirs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    // The run id is chosen when the process is started.
    let added = variables("").into_iter().filter(|(name, _)| *name != RUN_VARIABLE);
    environment.extend(added.map(|(name, value)| (name.into(), value.into())));
    Launch {
        program: program.to_owned(),
        arguments: arguments(&spec),
        variables: environment,
        workspace: start.workspace.clone(),
        host: start.host.clone(),
        agent: NAME,
        session: session.clone(),
        lease: start.lease.clone(),
    }
}

impl Rung {
    fn provenance(&self) -> Option<Provenance> {
        match self {
            Self::New | Self::Continue { .. } => Some(Provenance::Continued),
            Self::Fork { .. } | Self::Extract { .. } | Self::Complete { .. } => {
                Some(Provenance::ForkedAtMessage)
            }
            Self::Rebuild => Some(Provenance::RebuiltTranscript),
            Self::Replay(_) => Some(Provenance::ReplayedContext),
        }
    }
}

fn session_of(handoff: &Handoff) -> Option<AgentSessionId> {
    match handoff {
        Handoff::New { session } | Handoff::Fork { session, .. } | Handoff::Rebuild { session, .. } => {
            session.clone()
        }
        Handoff::Continue { .. } | Handoff::Replay { .. } | Handoff::Stateless => None,
    }
}

/// The model of the settings. Without one a session that is continued keeps that of its last answer: the program would
/// choose by itself, and another model changes what the API is sent.
fn model_of(start: &AgentStart) -> Option<Model> {
    let chosen = start.settings.iter().rev().find_map(|setting| match setting {
        Setting::Model { role: None, model } => Some(model.clone()),
        _ => None,
    });
    let is_continued = !matches!(start.handoff, Handoff::New { .. });
    chosen.or_else(|| {
        let replies = start.context.entries().filter(|_| is_continued);
        let models = replies.filter_map(|entry| match &entry.body {
            Body::Reply(reply) => reply.model.clone(),
            _ => None,
        });
        models.filter(|model| model.provider == "anthropic" && !model.name.starts_with('<')).last()
    })
}

fn permission_mode(settings: &[Setting]) -> &str {
    let chosen = settings.iter().rev().find_map(|setting| match setting {
        Setting::PermissionMode(mode) => Some(mode.as_str()),
        _ => None,
    });
    chosen.unwrap_or(DEFAULT_MODE)
}

fn tools(settings: &[Setting]) -> Option<&[String]> {
    settings.iter().rev().find_map(|setting| match setting {
        Setting::Tools(tools) => Some(tools.as_slice()),
        _ => None,
    })
}

pub(super) fn fresh_uuid() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let bits = (u128::from_be_bytes(bytes) & !(0xf << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    Ok(parts.join("-"))
}

fn not_started(source: io::Error) -> ConnectError {
    ConnectError::NotStarted { agent: TITLE.to_owned(), source }
}

/// Disks may be slow.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ConnectError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| not_started(io::Error::other(error)))
}
