//! Which models a server has: asked for at most once a day, and kept in a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use offshoot_session::file_name::file_name;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::request::Asking;
use crate::private;

const FRESH_FOR: SignedDuration = SignedDuration::from_hours(24);

/// A list of agents does not wait longer for one server.
const ASK_LIMIT: Duration = Duration::from_secs(3);

/// No list is as long.
const LONGEST_FILE: u64 = 128 * 1024 * 1024;

/// The models of a server, and whether it has said so.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) models: Vec<String>,
    pub(crate) answers: bool,
}

/// The models of a server, in its order: those of its list, else those of the settings. A list that is a day old is still
/// better than none.
pub(crate) async fn list(asking: &Asking, cache: Option<&Path>) -> Listed {
    let file = cache.map(|folder| file_of(folder, asking));
    let url = asking.server.shown_url();
    let kept = file.as_deref().and_then(|file| read(file, &url));
    let now = Timestamp::now();
    if let Some((_, models)) = kept.as_ref().filter(|(at, _)| now.duration_since(*at) < FRESH_FOR) {
        return Listed { models: models.clone(), answers: true };
    }
    if let Ok(Some(models)) = timeout(ASK_LIMIT, asking.models()).await {
        if let Some(file) = &file {
            // Without the file the server is asked again.
            let _ = write(file, &url, now, &models);
        }
        return Listed { models, answers: true };
    }
    let models = kept.map_or_else(|| asking.server.models.clone(), |(_, models)| models);
    Listed { models, answers: false }
}

/// Names of providers are the person's own and may be anything.
fn file_of(folder: &Path, asking: &Asking) -> PathBuf {
    folder.join(format!("models-{}.json", file_name(&asking.server.name)))
}

fn read(file: &Path, url: &str) -> Option<(Timestamp, Vec<String>)> {
    let kept: Value = serde_json::from_slice(&private::read(file, LONGEST_FILE).ok()?).ok()?;
    // The provider may have another address since.
    if kept.get("url")?.as_str()? != url {
        return None;
    }
    let at = kept.get("at")?.as_str()?.parse().ok()?;
    let models = kept.get("models")?.as_array()?.iter().filter_map(|model| Some(model.as_str()?.to_owned()));
    Some((at, models.collect()))
}

fn write(file: &Path, url: &str, at: Timestamp, models: &[String]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        private::create_folder(folder)?;
    }
    let text = json!({ "url": url, "at": at.to_string(), "models": models }).to_string();
    private::replace(file, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_kept_for_its_address() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache/models-x.json");
        let at = Timestamp::UNIX_EPOCH;
        write(&file, "https://a", at, &["m".to_owned()]).unwrap();
        assert_eq!(read(&file, "https://a"), Some((at, vec!["m".to_owned()])));
        assert_eq!(read(&file, "https://b"), None);
        std::fs::write(&file, "nonsense").unwrap();
        assert_eq!(read(&file, "https://a"), None);
    }
}
