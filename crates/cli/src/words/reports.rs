//! Sentences about mistakes of this program, and in the reports of them.

use std::path::Path;

use crate::numbers::counted;

pub(crate) fn broke(report: &Path) -> String {
    format!(
        "something broke inside Offshoot; what was said is kept, and a report without it is in `{}`",
        report.display()
    )
}

/// Nothing is written without a home or in a chat in memory, so nothing is kept.
pub(crate) fn broke_without_home(place: &str) -> String {
    format!("something broke inside Offshoot at `{place}`")
}

pub(crate) fn broke_untold(place: &str, error: &std::io::Error) -> String {
    format!(
        "something broke inside Offshoot at `{place}`; what was said is kept, but no report could be written: {error}"
    )
}

pub(crate) const REPORT_HEAD: &str = "\
Offshoot broke off: a mistake of the program. This report holds nothing of any conversation; texts that the message
quotes are left out. `offshoot doctor --report` puts it together with what else helps to mend it.";
pub(crate) const BACKTRACE: &str = "Backtrace";
pub(crate) const NO_BACKTRACE: &str =
    "This build does not know the names of its functions; the place above is exact.";
pub(crate) const LAST_LOG_LINES: &str = "Last lines of the log";
pub(crate) const UNKNOWN: &str = "unknown";

pub(crate) const BUNDLE_HEAD: &str = "\
What helps to find a mistake in Offshoot. Nothing that was said in any conversation is in here, and no title, label,
project or key.";
pub(crate) const NAME_ANOTHER: &str = "name another file, or `-` to print the report";
pub(crate) const LEFT_OUT: &str = "(left out)";
pub(crate) const IS_SET: &str = "is set";
pub(crate) const NOTHING_SET: &str = "nothing is set";
pub(crate) const SETTINGS_UNREADABLE: &str = "`settings.toml` cannot be understood";
pub(crate) const ON_PATH: &str = "installed";
pub(crate) const NOT_ON_PATH: &str = "not found";
pub(crate) const NO_CATALOG: &str = "there is none yet";
pub(crate) const NOT_PROVED: &str = "the sessions could not be listed";

pub(crate) fn a_text(letters: usize) -> String {
    format!("(a text of {letters} characters)")
}

pub(crate) fn a_list(count: usize) -> String {
    format!("({})", counted(count, "entry", "entries"))
}

pub(crate) fn catalog_unreadable(error: &dyn std::fmt::Display) -> String {
    format!("cannot be read: {error}")
}

pub(crate) fn report_written(path: &Path, size: &str, parts: &[(&str, &str)]) -> String {
    let mut text = format!("Wrote {size} to `{}`. It holds:\n", path.display());
    for (name, about) in parts {
        text.push_str(&format!("  {name:<10}{about}\n"));
    }
    text.push_str("Nothing that was said is in it. It is a text: read it before you hand it on.\n");
    text
}
