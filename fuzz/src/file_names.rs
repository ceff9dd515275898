//! File names made of foreign ids.

use std::path::Path;

use offshoot_session::file_name::file_name;

pub const IDS: &[&str] = &[
    "0f5c0000-0000-4000-8000-000000000001\n../../etc/passwd\n",
    "..\n.\n/\n//\na/../../b\n~/.ssh\nCON\nx:y\n",
    "\u{1b}]52;c;eA==\u{7}\n\u{202e}gpj\n日本語\n.hidden\n-rf\n",
    // The name that is made of the empty id, and what it was before.
    "\nid-af1349b9f5f9a1a6\nid~af1349b9f5f9a1a6\n",
];

/// Endings come on top; file systems allow 255 bytes.
const LONGEST: usize = 200;

/// No id leads out of a directory, every name is short and plain, and two ids never share one.
pub fn file_names(bytes: &[u8]) {
    let ids: Vec<String> =
        bytes.split(|byte| *byte == b'\n').map(|id| String::from_utf8_lossy(id).into_owned()).collect();
    let directory = Path::new("/home/of/sessions");
    let mut before: Option<&String> = None;
    for id in &ids {
        let name = file_name(id);
        assert!(name.len() <= LONGEST && !name.starts_with(['.', '~']), "{id:?} became {name:?}");
        if name != *id {
            assert_ne!(file_name(&name), name, "an id could have the name that was made of {id:?}");
        }
        let path = directory.join(&*name);
        assert_eq!(path.parent(), Some(directory), "{id:?} left its directory");
        assert_eq!(path.components().count(), directory.components().count() + 1);
        assert!(name.bytes().all(|byte| byte.is_ascii_graphic()), "{name:?}");
        if let Some(before) = before.filter(|before| *before != id) {
            assert_ne!(file_name(before), name, "{before:?} and {id:?}");
        }
        before = Some(id);
    }
}
