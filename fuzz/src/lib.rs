//! What every reader promises for any bytes, as functions that take them.
//!
//! The same functions are run by cargo-fuzz for hours (`cargo xtask fuzz`) and by ordinary tests on a few hundred
//! files each. The promises: no panic, no byte lost, and where a file can be read in two ways both say the same.

pub mod file_names;
pub mod lines;
pub mod mutate;
pub mod rules;
pub mod samples;
pub mod targets;

/// A reader with files to begin from.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub samples: &'static [&'static str],
}

pub const TARGETS: &[Target] = &[
    Target { name: "any", run: targets::any, samples: samples::ALL },
    Target { name: "classify", run: targets::classified, samples: samples::ALL },
    Target { name: "claude", run: targets::claude, samples: samples::CLAUDE },
    Target { name: "claude_beside", run: targets::claude_beside, samples: samples::CLAUDE },
    Target { name: "claude_lines", run: targets::claude_lines, samples: samples::CLAUDE_LINES },
    Target { name: "codex", run: targets::codex, samples: samples::CODEX },
    Target { name: "ending", run: targets::ending, samples: samples::CLAUDE_UUIDS },
    Target { name: "file_names", run: file_names::file_names, samples: file_names::IDS },
    Target { name: "follow", run: targets::follow, samples: samples::FOLLOWED },
    Target { name: "gemini", run: targets::gemini, samples: samples::GEMINI },
    Target { name: "journal", run: targets::journal, samples: samples::JOURNAL },
    Target { name: "light", run: targets::light, samples: samples::LONG },
    Target { name: "lines", run: lines::lines, samples: samples::FOLLOWED },
    Target { name: "llm_anthropic", run: targets::llm_anthropic, samples: samples::LLM_ANTHROPIC },
    Target { name: "llm_openai", run: targets::llm_openai, samples: samples::LLM_OPENAI },
    Target { name: "oh_my_pi", run: targets::pi, samples: samples::OH_MY_PI },
    Target { name: "opencode_json", run: targets::opencode_json, samples: samples::OPENCODE },
    Target { name: "opencode_rows", run: targets::opencode_rows, samples: samples::OPENCODE_ROWS },
    Target { name: "pi", run: targets::pi, samples: samples::PI },
    Target { name: "pi_scan", run: targets::pi_scan, samples: samples::PI },
    Target { name: "recent", run: targets::recent, samples: samples::CLAUDE },
    Target { name: "resume", run: targets::resume, samples: samples::FOLLOWED },
    Target { name: "rollouts", run: targets::rollouts, samples: samples::ROLLOUTS },
    Target { name: "rules", run: rules::rules, samples: rules::REQUESTS },
    Target { name: "side_files", run: targets::side_files, samples: samples::SIDE_FILES },
    Target { name: "side_index", run: targets::side_index, samples: samples::INDEX },
];
