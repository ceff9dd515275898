//! What the store refused, in the words of the wire.

use std::io;
use std::path::Path;

use offshoot_agents::ConnectError;
use offshoot_api::{ApiError, ErrorCode};
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
        AppendError::Disk(file) if is_full(file) => disk_full(&file.path, Left::Nothing),
        AppendError::NotSaved { path, source, left } if is_full(source) => disk_full(path, *left),
        AppendError::Disk(file) | AppendError::NotSaved { source: file, .. } => of_file(file, error),
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
        LockError::Held { path, holder } => {
            let session = path.file_stem().unwrap_or_default().to_string_lossy();
            ApiError::new(ErrorCode::Locked, format!("session `{session}` is being written by {holder}"))
        }
        LockError::File(file) => of_file(file, error),
    }
}

pub(crate) fn not_read(error: &ReadError) -> ApiError {
    internal(with_causes(error))
}

pub(crate) fn not_listed(error: &ListError) -> ApiError {
    internal(with_causes(error))
}

pub(crate) fn not_drafted(error: &DraftError) -> ApiError {
    match error {
        DraftError::File(file) => of_file(file, error),
        DraftError::Blob(_) | DraftError::Unwritable(_) => internal(with_causes(error)),
    }
}

pub(crate) fn not_reached(error: &ConnectError) -> String {
    with_causes(error)
}

fn of_file(file: &FileError, error: &dyn std::error::Error) -> ApiError {
    let code = if is_full(file) { ErrorCode::DiskFull } else { ErrorCode::Internal };
    ApiError::new(code, with_causes(error))
}

fn is_full(file: &FileError) -> bool {
    matches!(file.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn disk_full(path: &Path, left: Left) -> ApiError {
    let whole = match left {
        Left::Nothing => "; nothing was half written",
        Left::Perhaps => "",
    };
    let text = format!("could not save `{}`: no space left on the disk{whole}", path.display());
    ApiError::new(ErrorCode::DiskFull, text)
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
