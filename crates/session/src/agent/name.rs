//! The names of agents.

/// The name that settings, journals and JSON use for an agent. People may write some agents in other ways; any other name
/// is returned as it is.
pub fn canonical_name(written: &str) -> &str {
    match written {
        "claude" | "claude_code" => "claude-code",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_an_agent_gives_one_name() {
        for written in ["claude-code", "claude_code", "claude"] {
            assert_eq!(canonical_name(written), "claude-code");
        }
        for other in ["built_in", "codex", "Claude", ""] {
            assert_eq!(canonical_name(other), other);
        }
    }
}
