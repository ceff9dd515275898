//! Where the program keeps its files, and the faults that begin before any prompt.

use std::path::PathBuf;

use serde_json::Value;

pub(super) struct Config {
    /// `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub(super) folder: PathBuf,
    pub(super) version: String,
    faults: Value,
    /// Number of this start among all that used the folder: ids of one start never appear in another.
    pub(super) start: u64,
}

impl Config {
    pub(super) fn read() -> std::io::Result<Self> {
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".claude");
        let folder = std::env::var_os("CLAUDE_CONFIG_DIR").map_or_else(home, PathBuf::from);
        let faults = std::fs::read(folder.join("fake-claude.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or(Value::Null);
        let version = faults["version"].as_str().unwrap_or("2.1.325").to_owned();
        Ok(Self { folder, version, faults, start: 0 })
    }

    /// Counts this start.
    pub(super) fn count_start(&mut self) -> std::io::Result<()> {
        use std::io::Write as _;
        std::fs::create_dir_all(&self.folder)?;
        let path = self.folder.join("fake-claude.starts");
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path)?;
        file.write_all(b".")?;
        self.start = file.metadata()?.len();
        Ok(())
    }

    /// 2.1.197 and its like lack some options and lines.
    pub(super) fn is_old(&self) -> bool {
        let patch = self.version.rsplit('.').next().and_then(|patch| patch.parse::<u32>().ok());
        patch.is_none_or(|patch| patch < 300)
    }

    pub(super) fn fault(&self, name: &str) -> Option<&Value> {
        self.faults.get(name).filter(|fault| !fault.is_null())
    }
}
