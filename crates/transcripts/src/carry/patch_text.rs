//! Patches as Codex writes them: files with hunks, no line numbers.

use super::acts::{Act, Exchanged};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// What a patch of one file does; `None` for patches of several files, deletions and moves.
pub(super) fn act_of(patch: &str) -> Option<Act> {
    let lines = patch.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let mut lines = lines.lines().skip_while(|line| line.trim().is_empty());
    let header = lines.next()?;
    let body: Vec<&str> = lines.collect();
    if body.iter().any(|line| line.starts_with("*** ") && *line != "*** End of File") {
        return None;
    }
    if let Some(path) = header.strip_prefix("*** Add File: ") {
        let content: Vec<&str> = body.iter().filter_map(|line| line.strip_prefix('+')).collect();
        let content = content.iter().map(|line| format!("{line}\n")).collect();
        return Some(Act::Write { path: path.trim().to_owned(), content });
    }
    let path = header.strip_prefix("*** Update File: ")?.trim().to_owned();
    let hunks = body.split(|line| line.starts_with("@@"));
    let changes: Vec<Exchanged> = hunks.filter(|hunk| !hunk.is_empty()).map(change).collect::<Option<_>>()?;
    (!changes.is_empty()).then_some(Act::Edit { path, changes, everywhere: false })
}

/// Lines with `-` are the old text, lines with `+` the new one, all others belong to both.
fn change(hunk: &[&str]) -> Option<Exchanged> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for line in hunk.iter().filter(|line| **line != "*** End of File") {
        match line.chars().next() {
            Some('-') => old.push(line.get(1..)?),
            Some('+') => new.push(line.get(1..)?),
            Some(' ') => {
                old.push(line.get(1..)?);
                new.push(line.get(1..)?);
            }
            None => {
                old.push("");
                new.push("");
            }
            Some(_) => return None,
        }
    }
    (!old.is_empty()).then(|| Exchanged { old: old.join("\n"), new: new.join("\n") })
}

pub(super) fn adding(path: &str, content: &str) -> String {
    let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
    format!("{BEGIN}\n*** Add File: {path}\n{lines}{END}")
}

pub(super) fn changing(path: &str, changes: &[Exchanged]) -> String {
    let marked =
        |mark: char, text: &str| text.split('\n').map(|line| format!("{mark}{line}\n")).collect::<String>();
    let hunk = |change: &Exchanged| format!("@@\n{}{}", marked('-', &change.old), marked('+', &change.new));
    let hunks: String = changes.iter().map(hunk).collect();
    format!("{BEGIN}\n*** Update File: {path}\n{hunks}{END}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_of_one_file_is_an_edit_or_a_new_file() {
        let changes = vec![Exchanged { old: "a\nb".to_owned(), new: "a\nc".to_owned() }];
        let patch = changing("src/lib.rs", &changes);
        assert_eq!(act_of(&patch), Some(Act::Edit { path: "src/lib.rs".into(), changes, everywhere: false }));
        let context = "*** Begin Patch\n*** Update File: a\n@@ fn main\n same\n-old\n+new\n*** End Patch\n";
        let Some(Act::Edit { changes, .. }) = act_of(context) else { panic!("an edit") };
        assert_eq!(changes, [Exchanged { old: "same\nold".to_owned(), new: "same\nnew".to_owned() }]);
        let added = Act::Write { path: "a.txt".into(), content: "one\ntwo\n".into() };
        assert_eq!(act_of(&adding("a.txt", "one\ntwo\n")), Some(added));
    }

    #[test]
    fn a_patch_of_several_files_is_none() {
        let two = "*** Begin Patch\n*** Add File: a\n+1\n*** Add File: b\n+2\n*** End Patch";
        assert_eq!(act_of(two), None);
        assert_eq!(act_of("*** Begin Patch\n*** Delete File: a\n*** End Patch"), None);
        assert_eq!(act_of("rm a"), None);
    }
}
