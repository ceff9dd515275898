//! How a thinking level is asked for: models of one provider take different options, and refuse the others.
//!
//! Claude up to 4.5 takes a number of tokens, later ones decide that themselves and take an effort. Of a model that is not
//! known the form of the newest models of its provider is used.

/// In tokens; less than the longest answer that is asked for.
const BUDGETS: [(&str, u32); 4] = [("minimal", 1024), ("low", 4096), ("medium", 10_000), ("high", 16_000)];
const LARGEST_BUDGET: u32 = 24_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking<'l> {
    /// As the server does it.
    Default,
    Budget(u32),
    /// `is_hidden`: the server sends no words of it unless it is asked to.
    Adaptive {
        effort: &'l str,
        is_hidden: bool,
    },
    Disabled,
}

pub(super) fn of_claude<'l>(model: &str, level: &'l str) -> Thinking<'l> {
    let claude = Claude::of(model);
    let version = claude.version;
    if level == "off" {
        // Fable and Mythos always think and refuse to be told otherwise; older models think only when they are asked to.
        let thinks_by_default = claude.is_ordinary && version >= Some((5, 0));
        return if thinks_by_default { Thinking::Disabled } else { Thinking::Default };
    }
    match version {
        Some(version) if version < (3, 7) => Thinking::Default,
        Some(version) if version < (4, 6) => Thinking::Budget(budget(level)),
        None if !claude.is_claude => Thinking::Budget(budget(level)),
        Some(version) if version < (4, 7) => {
            Thinking::Adaptive { effort: known(level, &["low", "medium", "high"]), is_hidden: false }
        }
        Some(_) | None => {
            let effort = known(level, &["low", "medium", "high", "xhigh"]);
            Thinking::Adaptive { effort, is_hidden: true }
        }
    }
}

fn budget(level: &str) -> u32 {
    BUDGETS.iter().find(|(known, _)| *known == level).map_or(LARGEST_BUDGET, |(_, tokens)| *tokens)
}

/// `reasoning_effort` of OpenAI and of servers that speak its protocol; `None` leaves it to the server.
pub(super) fn openai_effort<'l>(model: &str, level: &'l str) -> Option<&'l str> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let efforts: &[&'static str] = match name.strip_prefix("gpt-") {
        None | Some("5-codex") => &["low", "medium", "high"],
        Some(version) if version == "5" || version.starts_with("5-") => &["minimal", "low", "medium", "high"],
        Some(version) if version.starts_with("5.1") && !version.contains("max") => &["low", "medium", "high"],
        Some(version) if version.starts_with("oss") => &["low", "medium", "high"],
        Some(_) => &["low", "medium", "high", "xhigh"],
    };
    (level != "off").then(|| known(level, efforts))
}

/// The level, or the nearest one that is known. Levels that we do not know are left to the server.
fn known<'l>(level: &'l str, efforts: &[&'static str]) -> &'l str {
    match level {
        "minimal" if !efforts.contains(&"minimal") => "low",
        "xhigh" if !efforts.contains(&"xhigh") => "high",
        level => level,
    }
}

/// What the name of a model says: `claude-3-7-sonnet-20250219`, `claude-opus-4-5`, `eu.anthropic.claude-sonnet-5-v1:0`.
struct Claude {
    is_claude: bool,
    /// Of the families that can also answer without thinking.
    is_ordinary: bool,
    version: Option<(u32, u32)>,
}

impl Claude {
    fn of(model: &str) -> Self {
        let Some((_, rest)) = model.split_once("claude-") else {
            return Self { is_claude: false, is_ordinary: false, version: None };
        };
        let words: Vec<&str> = rest.split(['-', '.', '@', ':', '[']).collect();
        let is_ordinary = ["opus", "sonnet", "haiku"].iter().any(|family| words.contains(family));
        // A longer number is a date.
        let number = |word: &str| word.parse::<u32>().ok().filter(|number| *number < 100);
        let first = words.iter().position(|word| number(word).is_some());
        let version = first.and_then(|at| {
            let major = words.get(at).and_then(|word| number(word))?;
            Some((major, words.get(at + 1).and_then(|word| number(word)).unwrap_or_default()))
        });
        Self { is_claude: true, is_ordinary, version }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_is_asked_as_its_version_takes_it() {
        for (model, level, expected) in [
            ("claude-3-5-sonnet-20241022", "high", "Default"),
            ("claude-3-7-sonnet-20250219", "high", "Budget(16000)"),
            ("claude-sonnet-4-20250514", "low", "Budget(4096)"),
            ("claude-opus-4-0", "minimal", "Budget(1024)"),
            ("claude-opus-4-1-20250805", "medium", "Budget(10000)"),
            ("claude-opus-4-5-20251101", "xhigh", "Budget(24000)"),
            ("claude-opus-4-5", "high", "Budget(16000)"),
            ("claude-sonnet-4-5", "high", "Budget(16000)"),
            ("claude-haiku-4-5-20251001", "high", "Budget(16000)"),
            ("eu.anthropic.claude-opus-4-5-20251101-v1:0", "high", "Budget(16000)"),
            ("claude-opus-4-6", "xhigh", "Adaptive high"),
            ("claude-sonnet-4-6", "minimal", "Adaptive low"),
            ("claude-opus-4-7", "xhigh", "Adaptive xhigh hidden"),
            ("claude-sonnet-5", "high", "Adaptive high hidden"),
            ("claude-fable-5-1", "medium", "Adaptive medium hidden"),
            ("claude-of-tomorrow", "high", "Adaptive high hidden"),
            ("glm-5", "high", "Budget(16000)"),
            ("claude-opus-4-5", "off", "Default"),
            ("claude-opus-4-7", "off", "Default"),
            ("claude-opus-5", "off", "Disabled"),
            ("claude-sonnet-5", "off", "Disabled"),
            ("claude-fable-5", "off", "Default"),
        ] {
            let told = match of_claude(model, level) {
                Thinking::Adaptive { effort, is_hidden } => {
                    format!("Adaptive {effort}{}", if is_hidden { " hidden" } else { "" })
                }
                other => format!("{other:?}"),
            };
            assert_eq!(told, expected, "{model} {level}");
        }
    }

    #[test]
    fn an_effort_that_a_model_does_not_know_is_the_nearest_one() {
        for (model, minimal, xhigh) in [
            ("gpt-5", "minimal", "high"),
            ("gpt-5-mini", "minimal", "high"),
            ("gpt-5.1", "low", "high"),
            ("gpt-5.1-codex-max", "low", "xhigh"),
            ("gpt-5.2", "low", "xhigh"),
            ("o3", "low", "high"),
            ("openai/gpt-oss-120b", "low", "high"),
            ("qwen3", "low", "high"),
        ] {
            let efforts = ["minimal", "xhigh"].map(|level| openai_effort(model, level));
            assert_eq!(efforts, [Some(minimal), Some(xhigh)], "{model}");
        }
        assert_eq!((openai_effort("gpt-5", "off"), openai_effort("gpt-5", "medium")), (None, Some("medium")));
    }
}
