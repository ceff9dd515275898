//! The whole tree as rows, without a word of what was said: those are read for the rows on the screen.

use offshoot_session::skeleton::Kind;

use super::LazySession;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub node: u32,
    pub kind: Kind,
    /// Forks above it: entries of one branch stand below each other.
    pub indent: u32,
    /// A fork right below it.
    pub is_fork: bool,
    pub is_leaf: bool,
    pub on_active_path: bool,
}

impl LazySession {
    /// Every entry once, each before its children; the active branch first, then branches oldest first.
    pub fn rows(&self) -> Vec<Row> {
        let skeleton = &self.skeleton;
        let mut is_active = vec![false; skeleton.len()];
        for node in skeleton.ancestors(skeleton.main_head()) {
            if let Some(active) = is_active.get_mut(node as usize) {
                *active = true;
            }
        }
        let active = |node: u32| is_active.get(node as usize).copied().unwrap_or(false);
        let active_first = |mut nodes: Vec<u32>| {
            if let Some(at) = nodes.iter().position(|node| active(*node))
                && let Some(start) = nodes.get_mut(..=at)
            {
                start.rotate_right(1);
            }
            nodes
        };
        let mut rows = Vec::with_capacity(skeleton.len());
        let mut open: Vec<(u32, u32)> =
            active_first(skeleton.children(None)).into_iter().rev().map(|node| (node, 0)).collect();
        while let Some((node, indent)) = open.pop() {
            let children = active_first(skeleton.children(Some(node)));
            let is_fork = children.len() > 1;
            let Some(kind) = skeleton.kind(node) else { continue };
            rows.push(Row {
                node,
                kind,
                indent,
                is_fork,
                is_leaf: children.is_empty(),
                on_active_path: active(node),
            });
            let indent = indent + u32::from(is_fork);
            open.extend(children.into_iter().rev().map(|child| (child, indent)));
        }
        rows
    }
}
