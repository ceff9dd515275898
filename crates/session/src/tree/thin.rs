//! A tree in which only some entries have words: the shape comes from a [`Skeleton`] or from light lines, the words
//! that somebody will look at were read one by one.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Head, Node, SessionTree};
use crate::skeleton::Skeleton;
use crate::{Entry, EntryId, TurnId};

impl SessionTree {
    /// For looking, not for writing: it knows no steps and has no log. It holds these nodes, which come in the order
    /// of writing; with a node comes its parent. Those that were not read say nothing, but are in their places, with
    /// their ids, times and kinds.
    pub fn thin(
        skeleton: &Skeleton,
        nodes: impl IntoIterator<Item = u32>,
        read: &HashMap<u32, Arc<Entry>>,
    ) -> Self {
        let mut tree = Self { header: skeleton.header().cloned(), ..Self::default() };
        let mut places: HashMap<u32, u32> = HashMap::new();
        for node in nodes {
            let Some(entry) = read.get(&node).cloned().or_else(|| hollow(skeleton, node)) else { continue };
            let parent = skeleton.parent(node).and_then(|parent| places.get(&parent)).copied();
            let index = tree.push_node(entry, parent);
            places.insert(node, index);
        }
        let place = |node: Option<u32>| node.and_then(|node| places.get(&node)).copied();
        for parent in std::iter::once(None).chain(places.keys().copied().map(Some)) {
            if let Some(child) = place(skeleton.remembered_child(parent)) {
                tree.remember(place(parent), child);
            }
        }
        for (name, at) in skeleton.heads().into_iter().filter(|(name, _)| skeleton.has_head(name)) {
            tree.heads.insert_mut(name, Head { at: place(at), follows: None });
        }
        tree.user_title = skeleton.title().filter(|_| skeleton.title_is_by_user()).map(str::to_owned);
        tree.auto_title = skeleton.title().filter(|_| !skeleton.title_is_by_user()).map(str::to_owned);
        let owned = |(id, text): (&EntryId, &str)| (id.clone(), text.to_owned());
        tree.labels = skeleton.labels().map(owned).collect();
        tree.branch_names = skeleton.branch_names().map(owned).collect();
        tree.checkpoints = skeleton.checkpoints().map(owned).collect();
        tree.archived = skeleton.archived().cloned().collect();
        tree
    }
}

impl SessionTree {
    /// The same tree, in which some of its entries say more. For looking, not for writing: the log keeps what they said
    /// before.
    pub fn retold(&self, entries: impl IntoIterator<Item = Arc<Entry>>) -> Self {
        let mut tree = self.clone();
        for entry in entries {
            let index = tree.by_id.get(&entry.id).map(|index| *index as usize);
            if let Some((index, node)) = index.and_then(|index| Some((index, tree.nodes.get(index)?.clone())))
            {
                tree.nodes.set_mut(index, Node { entry, ..node });
            }
        }
        tree
    }
}

fn hollow(skeleton: &Skeleton, node: u32) -> Option<Arc<Entry>> {
    let envelope = skeleton.envelope(node)?;
    let named = |name| skeleton.text(name);
    Some(Arc::new(Entry {
        id: skeleton.id(node)?,
        parent: skeleton.named_parent(node).and_then(named).map(EntryId::from),
        written_at: envelope.at.timestamp(),
        turn: envelope.turn().and_then(named).map(TurnId::from),
        body: envelope.kind.hollow(),
    }))
}
