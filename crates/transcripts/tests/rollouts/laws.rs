//! What holds for every file.

use offshoot_transcripts::rollouts;
use proptest::prelude::*;

use crate::files::{load, tree_of};

fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        "[a-z]{0,5}"
            .prop_map(|words| format!(r#"{{"type": "message", "role": "user", "content": "{words}"}}"#)),
        Just(
            r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"yes"}],"cost":1.50}"#
                .to_owned()
        ),
        Just(r#"{"type":"config_change","endpoint":{"provider":"p","model":"m"}}"#.to_owned()),
        Just(r#"{"type":"mystery","content":"x"}"#.to_owned()),
        Just("{bad".to_owned()),
        Just(String::new()),
        Just("[1]".to_owned()),
    ];
    prop::collection::vec(line, 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_is_written_back_byte_for_byte(
        lines in lines(),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
        tail in prop::sample::select(vec!["", "{\"type\":\"mess", "{\"type\":\"message\",\"role\":\"user\",\"content\":\"end\"}"]),
    ) {
        let header = r#"{"type": "session", "id": "r1", "timestamp": "2025-01-01T00:00:00", "parent_id": null}"#;
        let body: String = lines.iter().map(|line| format!("{line}{ending}")).collect();
        let file = format!("{header}{ending}{body}{tail}");
        let tree = tree_of(&load(&file));
        let leaf = tree.main_head().cloned().unwrap_or_else(|| "none".into());
        let written = rollouts::write(&tree, &leaf);
        prop_assert_eq!(String::from_utf8_lossy(&written.bytes), file);
        prop_assert_eq!(written.lost, []);
    }
}
