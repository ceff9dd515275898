//! The options that the program knows; it refuses all others, as the real one does.

use super::config::Config;

#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) session: Option<String>,
    pub(super) resume: Option<String>,
    pub(super) resume_at: Option<String>,
    pub(super) fork: bool,
    pub(super) model: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) partial_messages: bool,
    pub(super) replay_prompts: bool,
    /// The only tools there are.
    pub(super) tools: Option<Vec<String>>,
    pub(super) asks: bool,
    pub(super) mirror: bool,
    pub(super) speaks_json: bool,
}

const WITH_VALUE: [&str; 15] = [
    "--output-format",
    "--input-format",
    "--permission-prompt-tool",
    "--model",
    "--permission-mode",
    "--session-id",
    "--resume",
    "--resume-session-at",
    "--tools",
    "--allowedTools",
    "--disallowedTools",
    "--mcp-config",
    "--settings",
    "--add-dir",
    "--append-system-prompt",
];

pub(super) fn parse(arguments: &[String], config: &Config) -> Result<Options, String> {
    let mut options = Options { asks: false, ..Options::default() };
    let (mut reads_json, mut writes_json, mut is_verbose) = (false, false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = if WITH_VALUE.contains(&word.as_str()) {
            words.next().cloned().ok_or_else(|| format!("error: option '{word}' argument missing"))?
        } else {
            String::new()
        };
        match word.as_str() {
            "--output-format" => writes_json = value == "stream-json",
            "--input-format" => reads_json = value == "stream-json",
            "--permission-prompt-tool" => options.asks = value == "stdio",
            "--model" => options.model = Some(value),
            "--permission-mode" => options.mode = Some(value),
            "--session-id" => options.session = Some(value),
            "--resume" => options.resume = Some(value),
            "--resume-session-at" => options.resume_at = Some(value),
            "--tools" => {
                let names = value.split(',').filter(|name| !name.is_empty());
                options.tools = Some(names.map(str::to_owned).collect());
            }
            "--fork-session" => options.fork = true,
            "--include-partial-messages" => options.partial_messages = true,
            "--replay-user-messages" => options.replay_prompts = true,
            "--session-mirror" => options.mirror = true,
            "--verbose" => is_verbose = true,
            "-p"
            | "--print"
            | "--allowedTools"
            | "--disallowedTools"
            | "--mcp-config"
            | "--settings"
            | "--add-dir"
            | "--append-system-prompt" => {}
            "--forward-subagent-text" if !config.is_old() => {}
            unknown => return Err(format!("error: unknown option '{unknown}'")),
        }
    }
    options.speaks_json = reads_json && writes_json;
    if writes_json && !is_verbose {
        return Err("Error: When using --print, --output-format=stream-json requires --verbose".to_owned());
    }
    if options.session.is_some() && options.resume.is_some() && !options.fork {
        return Err(
            "Error: --session-id can only be used with --continue or --resume if --fork-session is also \
                    specified."
                .to_owned(),
        );
    }
    let bypass = options.mode.as_deref() == Some("bypassPermissions");
    let in_sandbox = std::env::var_os("IS_SANDBOX").is_some_and(|value| value == "1");
    if bypass && rustix::process::getuid().is_root() && !in_sandbox {
        return Err(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
                .to_owned(),
        );
    }
    Ok(options)
}
