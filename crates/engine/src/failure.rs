//! What the store refused, in the words of the wire.

use std::io;
use std::path::Path;

use offshoot_agents::ConnectError;
use offshoot_api::{ApiError, ErrorCode, ErrorData, FILE_SIZE_LIMIT, Needed};
use offshoot_session::agent::{AgentFailure, FailureKind};
use offshoot_session::format;
use offshoot_store::drafts::DraftError;
use offshoot_store::store::Left;
use offshoot_store::{
    AppendError, CreateError, FileError, ListError, LockError, ReadError, Stale, WriteError,
};

pub(crate) fn internal(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::Internal, message)
}

/// The message names the file and the line.
pub(crate) fn bad_settings(message: String) -> ApiError {
    ApiError::new(ErrorCode::Invalid, message)
}

pub(crate) fn not_appended(error: &AppendError) -> ApiError {
    match error {
        AppendError::NotFound(id) => ApiError::session_not_found(id.as_str()),
        AppendError::Locked(lock) => not_locked(lock),
        AppendError::Read(read) => not_read(read),
        AppendError::Disk(file) => not_saved(&file.path, &file.source, Left::Nothing, error),
        AppendError::NotSaved { path, source, left } => not_saved(path, &source.source, *left, error),
        AppendError::Rejected(why) => internal(format!("{error}: {why}")),
        AppendError::Unwritable(why) => ApiError::new(ErrorCode::Invalid, format!("{error}: {why}")),
    }
}

/// Where nobody can plan it again.
pub(crate) fn not_written(error: &WriteError<Stale>) -> ApiError {
    match error {
        WriteError::Declined(stale) => internal(stale.to_string()),
        WriteError::Failed(error) => not_appended(error),
    }
}

pub(crate) fn not_created(error: &CreateError) -> ApiError {
    match error {
        CreateError::Failed(error) => not_appended(error),
        CreateError::BadId(_) | CreateError::NoHeader | CreateError::Exists(_) => {
            ApiError::new(ErrorCode::Invalid, error.to_string())
        }
    }
}

pub(crate) fn not_locked(error: &LockError) -> ApiError {
    match error {
        LockError::Held { path, holder, pid } => {
            let session = path.file_stem().unwrap_or_default().to_string_lossy();
            let text = format!("session `{session}` is being written by {holder}");
            let (holder, pid) = (Some(holder.clone()), *pid);
            ApiError::new(ErrorCode::Locked, text).about(ErrorData { holder, pid, ..ErrorData::default() })
        }
        LockError::File(file) => not_saved(&file.path, &file.source, Left::Nothing, error),
    }
}

/// The lock for steps of two sessions is named after no session.
pub(crate) fn steps_not_locked(error: &LockError) -> ApiError {
    match error {
        LockError::Held { holder, pid, .. } => {
            let text = format!("a fork is being undone or redone by {holder}");
            let data = ErrorData { holder: Some(holder.clone()), pid: *pid, ..ErrorData::default() };
            ApiError::new(ErrorCode::Locked, text).about(data)
        }
        LockError::File(_) => not_locked(error),
    }
}

pub(crate) fn not_read(error: &ReadError) -> ApiError {
    match error {
        ReadError::Newer { path, source } => {
            let session = path.file_stem().unwrap_or_default().to_string_lossy();
            let data = ErrorData {
                path: Some(path.display().to_string()),
                found: Some(source.version),
                known: Some(format::VERSION),
                ..ErrorData::default()
            };
            let text = format!("session `{session}` cannot be read: {source}");
            ApiError::new(ErrorCode::NewerFormat, text).about(data)
        }
        ReadError::File(file) => file_not_read(file, error),
        ReadError::Gone { .. } => internal(with_causes(error)),
    }
}

pub(crate) fn not_listed(error: &ListError) -> ApiError {
    match error {
        ListError::File(file) => file_not_read(file, error),
    }
}

fn file_not_read(file: &FileError, error: &dyn std::error::Error) -> ApiError {
    match file.source.kind() {
        io::ErrorKind::PermissionDenied => {
            let text = format!("no permission to read `{}`", file.path.display());
            no_access(text, &file.path, Needed::Read)
        }
        _ => internal(with_causes(error)),
    }
}

fn no_access(text: String, path: &Path, needed: Needed) -> ApiError {
    let (path, needed) = (Some(path.display().to_string()), Some(needed));
    ApiError::new(ErrorCode::NoAccess, text).about(ErrorData { path, needed, ..ErrorData::default() })
}

pub(crate) fn not_drafted(error: &DraftError) -> ApiError {
    match error {
        DraftError::File(file) => not_saved(&file.path, &file.source, Left::Perhaps, error),
        DraftError::Blob(_) | DraftError::Unwritable(_) => internal(with_causes(error)),
    }
}

pub(crate) fn not_reached(error: &ConnectError) -> AgentFailure {
    let kind = match error {
        ConnectError::Failed { kind, .. } => *kind,
        ConnectError::NotInstalled { .. }
        | ConnectError::NotSupported { .. }
        | ConnectError::Elsewhere { .. }
        | ConnectError::NotStarted { .. }
        | ConnectError::NotTakenUp { .. } => FailureKind::Process,
    };
    AgentFailure::new(kind, with_causes(error))
}

fn not_saved(path: &Path, source: &io::Error, left: Left, error: &dyn std::error::Error) -> ApiError {
    let whole = match left {
        Left::Nothing => "; nothing was half written",
        Left::Perhaps => "",
    };
    let text = |why: &str| format!("could not save `{}`: {why}{whole}", path.display());
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ApiError::new(ErrorCode::DiskFull, text("no space left on the disk"))
        }
        io::ErrorKind::PermissionDenied => no_access(text("no permission"), path, Needed::Write),
        io::ErrorKind::ReadOnlyFilesystem => {
            no_access(text("the disk cannot be written"), path, Needed::Write)
        }
        // For the process, a limit on the size of files is a full disk.
        io::ErrorKind::FileTooLarge => {
            let data = ErrorData { problem: Some(FILE_SIZE_LIMIT.to_owned()), ..ErrorData::default() };
            ApiError::new(ErrorCode::DiskFull, text("the file would exceed the file size limit")).about(data)
        }
        _ => internal(with_causes(error)),
    }
}

/// One sentence with what lies behind it. A cause that only repeats what stands above it is left out.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> FileError {
        let source = io::ErrorKind::PermissionDenied.into();
        FileError { doing: "open", path: "/home/a.jsonl".into(), source }
    }

    /// A file that may not be touched is no defect of this program.
    #[test]
    fn a_file_without_permission_says_which_and_what_is_needed() {
        let path = Some("/home/a.jsonl".to_owned());
        for (error, needed, text) in [
            (not_read(&denied().into()), Needed::Read, "no permission to read `/home/a.jsonl`"),
            (not_listed(&denied().into()), Needed::Read, "no permission to read `/home/a.jsonl`"),
            (
                not_appended(&AppendError::Disk(denied())),
                Needed::Write,
                "could not save `/home/a.jsonl`: no permission; nothing was half written",
            ),
            (
                not_locked(&denied().into()),
                Needed::Write,
                "could not save `/home/a.jsonl`: no permission; nothing was half written",
            ),
        ] {
            let data = ErrorData { path: path.clone(), needed: Some(needed), ..ErrorData::default() };
            assert_eq!(error, ApiError::new(ErrorCode::NoAccess, text).about(data));
        }
    }
}
