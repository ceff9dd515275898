//! Which nodes decide how many versions a prompt has ([`crate::versions`]), for trees of which only a part is read.

use super::{Kind, Skeleton};

impl Skeleton {
    /// The prompts of the slot of this prompt, itself among them, with the settings between them and the entry that the
    /// slot is below. A tree of these nodes counts the versions of the prompt as the whole tree does.
    pub fn slot_around(&self, prompt: u32) -> Vec<u32> {
        // Injected rules say how the agent runs, but they are no settings of a version.
        let is_own = |kind: Kind| kind.is_setting() && kind != Kind::InjectedRules;
        let is_setting = |node: &u32| self.kind(*node).is_some_and(is_own);
        let is_prompt = |node: &u32| self.kind(*node) == Some(Kind::Prompt);
        let mut above = self.ancestors(self.parent(prompt));
        let below = above.find(|node| !is_setting(node));
        let mut nodes: Vec<u32> = below.into_iter().collect();
        let mut open = self.children(below);
        while let Some(node) = open.pop() {
            if is_prompt(&node) {
                nodes.push(node);
            } else if is_setting(&node) {
                nodes.push(node);
                open.extend(self.children(Some(node)));
            }
        }
        // An archived version counts if the head is below it.
        let is_archived = |node: &u32| self.id(*node).is_some_and(|id| self.archived.contains(&id));
        if !self.archived.is_empty() && nodes.iter().any(is_archived) {
            nodes.extend(self.ancestors(self.main_head()));
        }
        nodes
    }
}
