//! Files that tools have touched, so that a summary can name them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::FileLists;
use crate::context::Message;

#[derive(Clone, Debug, Default)]
pub(crate) struct FilesTouched {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl FilesTouched {
    /// Takes over what an earlier summary has listed.
    pub(crate) fn carry_on(&mut self, lists: &FileLists) {
        self.read.extend(lists.read.iter().cloned());
        self.modified.extend(lists.modified.iter().cloned());
    }

    pub(crate) fn read_calls_of(&mut self, message: &Message) {
        for call in message.as_reply().into_iter().flat_map(|reply| reply.tool_uses()) {
            let Some(path) = path_argument(&call.input) else { continue };
            match call.name.as_str() {
                "read" | "Read" => self.read.insert(path.to_owned()),
                "write" | "Write" | "edit" | "Edit" => self.modified.insert(path.to_owned()),
                _ => false,
            };
        }
    }

    /// Both lists sorted. A file that was also modified is not listed as read.
    pub(crate) fn lists(self) -> FileLists {
        let read = self.read.difference(&self.modified).cloned().collect();
        FileLists { read, modified: self.modified.into_iter().collect() }
    }
}

fn path_argument(input: &Value) -> Option<&str> {
    let path = |name| input.get(name).and_then(Value::as_str).filter(|path| !path.is_empty());
    path("path").or_else(|| path("file_path"))
}
