//! Attacks on the confinement, on real files.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use super::*;

const LIMIT: u64 = 1024;

/// A workspace in a folder with a file that must not change.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        fs::write(folder.path().join("canary"), "alive").unwrap();
        Self { folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join("workspace").join(below)
    }

    fn workspace(&self) -> Workspace {
        Workspace::open(&self.path("")).unwrap()
    }

    /// All that lies beside the workspace.
    fn assert_nothing_outside_changed(&self) {
        let names = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["canary", "workspace"]);
        assert_eq!(fs::read_to_string(self.folder.path().join("canary")).unwrap(), "alive");
    }
}

fn read(workspace: &Workspace, path: &str) -> Result<String, String> {
    let path = workspace.inside(path).map_err(|error| error.to_string())?;
    let read = workspace.read(&path, LIMIT).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(read).unwrap())
}

fn write(workspace: &Workspace, path: &str, text: &str) -> Result<Written, String> {
    let path = workspace.inside(path).map_err(|error| error.to_string())?;
    workspace.write(&path, text.as_bytes()).map_err(|error| error.to_string())
}

fn walked(workspace: &Workspace, from: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let from = workspace.inside(from).unwrap();
    let visit = &mut |found: &Found<'_>| {
        paths.push(found.path.to_string_lossy().into_owned());
        ControlFlow::Continue(())
    };
    workspace.walk(&from, Walk::Everything, visit).unwrap();
    paths
}

#[test]
fn what_leads_out_by_its_text_is_refused() {
    let place = Place::new();
    let workspace = place.workspace();
    for path in ["../canary", "a/../../canary", "..", "/etc/passwd", "./../canary", "/"] {
        let refused = format!("`{path}` is not in the workspace");
        assert_eq!(read(&workspace, path), Err(refused.clone()));
        assert_eq!(write(&workspace, path, "no"), Err(refused));
    }
    assert_eq!(write(&workspace, "", "no"), Err("the path is empty".into()));
    assert_eq!(write(&workspace, ".", "no"), Err("`.` is a folder".into()));
    assert!(read(&workspace, "a\0b").is_err());
    place.assert_nothing_outside_changed();
}

#[test]
fn an_absolute_path_of_the_workspace_is_one_below_it() {
    let place = Place::new();
    let workspace = place.workspace();
    let absolute = place.path("a.txt").to_str().unwrap().to_owned();
    assert_eq!(write(&workspace, &absolute, "one"), Ok(Written::New));
    assert_eq!(read(&workspace, "./a.txt"), Ok("one".into()));
    let sibling = format!("{}-other/a.txt", place.path("").display().to_string().trim_end_matches('/'));
    assert_eq!(write(&workspace, &sibling, "no"), Err(format!("`{sibling}` is not in the workspace")));
}

#[test]
fn links_out_are_refused_and_links_inside_are_read() {
    let place = Place::new();
    let workspace = place.workspace();
    fs::write(place.path("a.txt"), "one").unwrap();
    symlink(place.folder.path(), place.path("out")).unwrap();
    symlink("..", place.path("up")).unwrap();
    symlink(place.folder.path().join("canary"), place.path("canary")).unwrap();
    symlink("/proc/self/root/etc", place.path("magic")).unwrap();
    symlink("circle", place.path("circle")).unwrap();
    for path in ["out/canary", "up/canary", "canary", "magic/passwd", "circle", "out/new", "up/new/new"] {
        let refused = Err(format!("`{path}` is not in the workspace"));
        assert_eq!(read(&workspace, path), refused, "{path}");
        assert_eq!(write(&workspace, path, "no").map(|_| String::new()), refused, "{path}");
    }
    #[cfg(target_os = "linux")]
    {
        symlink("a.txt", place.path("link")).unwrap();
        assert_eq!(read(&workspace, "link"), Ok("one".into()));
        let named = "`link` is a link to `a.txt`; use that path";
        assert_eq!(write(&workspace, "link", "no"), Err(named.into()));
    }
    place.assert_nothing_outside_changed();
}

/// A folder is exchanged for a link to the outside again and again while it is read, written and walked.
#[cfg(target_os = "linux")]
#[test]
fn a_link_that_is_made_meanwhile_leads_nowhere() {
    use rustix::fs::{RenameFlags, renameat_with};
    let place = Place::new();
    let workspace = place.workspace();
    let (link, name) = (place.path("link"), place.path("name"));
    fs::create_dir(&name).unwrap();
    fs::write(name.join("canary"), "inside").unwrap();
    symlink(place.folder.path(), &link).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &name, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..2000 {
            if let Ok(text) = read(&workspace, "name/canary") {
                assert_eq!(text, "inside");
            }
            let _ = write(&workspace, "name/canary", "inside");
            let _ = write(&workspace, "name/new", "inside");
        }
        for _ in 0..100 {
            let paths = walked(&workspace, ".");
            assert!(!paths.iter().any(|path| path.contains("workspace")), "{paths:?}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
    place.assert_nothing_outside_changed();
}

#[test]
fn only_regular_files_are_opened() {
    let place = Place::new();
    let workspace = place.workspace();
    mkfifoat(CWD, place.path("fifo"), Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    fs::create_dir(place.path("folder")).unwrap();
    for (path, what) in [
        ("fifo", "`fifo` is a FIFO, not a regular file"),
        ("socket", "`socket` is a socket, not a regular file"),
        ("folder", "`folder` is a folder"),
    ] {
        assert_eq!(read(&workspace, path), Err(what.into()));
        assert_eq!(write(&workspace, path, "no"), Err(what.into()));
    }
    let devices = Workspace::open(Path::new("/dev")).unwrap();
    for device in ["zero", "tty", "null"] {
        assert_eq!(read(&devices, device), Err(format!("`{device}` is a device, not a regular file")));
        assert!(write(&devices, device, "no").is_err());
    }
}

#[test]
fn a_huge_file_is_not_read_whole() {
    let place = Place::new();
    let file = fs::File::create(place.path("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    let refused = format!("`huge` has {} bytes, and at most 1024 are read", 1_u64 << 40);
    assert_eq!(read(&place.workspace(), "huge"), Err(refused));
}

#[test]
fn a_file_is_replaced_in_one_step_and_keeps_its_mode() {
    let place = Place::new();
    let workspace = place.workspace();
    assert_eq!(write(&workspace, "a/b/run.sh", "one"), Ok(Written::New));
    let file = place.path("a/b/run.sh");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
    let before = file.metadata().unwrap().ino();
    assert_eq!(write(&workspace, "a/b/run.sh", "two"), Ok(Written::Replaced));
    let found = file.metadata().unwrap();
    assert_eq!((found.mode() & 0o777, fs::read_to_string(&file).unwrap().as_str()), (0o751, "two"));
    assert_ne!(found.ino(), before);
    assert_eq!(walked(&workspace, "."), ["a", "a/b", "a/b/run.sh"], "nothing is left over");
}

/// A second name of a file outside must not be a way to change that file.
#[test]
fn the_other_name_of_a_file_keeps_its_content() {
    let place = Place::new();
    fs::hard_link(place.folder.path().join("canary"), place.path("twin")).unwrap();
    assert_eq!(write(&place.workspace(), "twin", "changed"), Ok(Written::Replaced));
    assert_eq!(fs::read_to_string(place.path("twin")).unwrap(), "changed");
    place.assert_nothing_outside_changed();
}

#[test]
fn what_git_keeps_is_not_written() {
    let place = Place::new();
    let other_names = ["git~1/config", ".g\u{200c}it/config", ".git. ./config"];
    for path in [".git/hooks/post-checkout", "a/.GIT/config", ".git"].into_iter().chain(other_names) {
        let refused = format!("`{path}` belongs to Git, which is changed only by its own commands");
        assert_eq!(write(&place.workspace(), path, "no"), Err(refused));
    }
}

/// A link that was checked in, `x -> .git`, was a way to write what `.git/config` has Git run.
#[test]
fn what_git_keeps_is_not_written_through_a_link() {
    let place = Place::new();
    let workspace = place.workspace();
    for folder in [".git/hooks", "sub/.git", "real"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    for (name, to) in [("x", ".git"), ("hooks", ".git/hooks"), ("sub/y", ".git"), ("z", "sub"), ("w", "real")]
    {
        symlink(to, place.path(name)).unwrap();
    }
    fs::write(place.path(".git/config"), "old").unwrap();
    for (path, link) in [
        ("x/config", "`x` is a link to `.git`; use that path"),
        ("x/new/config", "`x` is a link to `.git`; use that path"),
        ("hooks/pre-commit", "`hooks` is a link to `.git/hooks`; use that path"),
        ("sub/y/config", "`sub/y` is a link to `.git`; use that path"),
        ("z/y/config", "`z` is a link to `sub`; use that path"),
        ("w/file", "`w` is a link to `real`; use that path"),
    ] {
        assert_eq!(write(&workspace, path, "no"), Err(link.into()));
        let inside = workspace.inside(path).unwrap();
        assert_eq!(workspace.would_replace(&inside).unwrap_err().to_string(), link);
    }
    assert_eq!(read(&workspace, "x/config"), Ok("old".into()), "reading follows links in the workspace");
    assert_eq!(fs::read_dir(place.path(".git/hooks")).unwrap().count(), 0);
}

#[test]
fn a_walk_leaves_out_what_is_ignored_and_follows_no_link() {
    let place = Place::new();
    let workspace = place.workspace();
    for (path, text) in [
        (".gitignore", "*.log\n/target\nnotes/*\n!notes/keep.md\n"),
        (".git/config", ""),
        ("a.log", ""),
        ("src/b.log", ""),
        ("src/.gitignore", "!b.log\nc.rs\n"),
        ("src/c.rs", ""),
        ("src/d.rs", ""),
        ("target/e", ""),
        ("notes/keep.md", ""),
        ("notes/other.md", ""),
    ] {
        fs::create_dir_all(place.path(path).parent().unwrap()).unwrap();
        fs::write(place.path(path), text).unwrap();
    }
    symlink(place.folder.path(), place.path("out")).unwrap();
    let all =
        [".gitignore", "notes", "notes/keep.md", "out", "src", "src/.gitignore", "src/b.log", "src/d.rs"];
    assert_eq!(walked(&workspace, "."), all);
    assert_eq!(walked(&workspace, "src"), ["src/.gitignore", "src/b.log", "src/d.rs"]);
    assert_eq!(walked(&workspace, "target"), ["target/e"], "named by the caller");
}
