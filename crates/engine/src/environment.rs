//! The environment in which agents and hooks run: that of the caller, without our own variables and without those that
//! the setting `agent_environment` leaves out.

use offshoot_api::CallerContext;
use offshoot_session::agent::Environment;

use crate::settings::Settings;

/// Our own variables steer this program; an agent that runs it should not inherit how its parent was called.
const OWN: &str = "OFFSHOOT_";

pub(crate) fn environment_for(context: &CallerContext, settings: &Settings) -> Environment {
    let is_left_out = |name: &str| {
        name.starts_with(OWN) || settings.agent_environment.iter().any(|pattern| matches(pattern, name))
    };
    let variables = context.environment.iter().filter(|(name, _)| !is_left_out(name));
    variables.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// `*` stands for any number of characters; everything else for itself.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    let mut is_open = false;
    while let Some(part) = parts.next() {
        is_open = true;
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    is_open || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(agent_environment: &[&str]) -> Vec<String> {
        let names = ["AWS_SECRET", "HOME", "HTTPS_PROXY", "OFFSHOOT_HOME", "PATH"];
        let environment = names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        let context = CallerContext { environment, ..CallerContext::default() };
        let agent_environment = agent_environment.iter().map(|name| (*name).to_owned()).collect();
        let settings = Settings { agent_environment, ..Settings::default() };
        environment_for(&context, &settings).iter().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn our_own_variables_never_reach_an_agent() {
        assert_eq!(names(&[]), ["AWS_SECRET", "HOME", "HTTPS_PROXY", "PATH"]);
    }

    #[test]
    fn patterns_leave_variables_out() {
        assert_eq!(names(&["AWS_*", "*_PROXY"]), ["HOME", "PATH"]);
        assert_eq!(names(&["H*E"]), ["AWS_SECRET", "HTTPS_PROXY", "PATH"]);
        assert_eq!(names(&["*T*P*"]), ["AWS_SECRET", "HOME", "PATH"]);
        assert_eq!(names(&["PATH", "AWS", ""]), ["AWS_SECRET", "HOME", "HTTPS_PROXY"]);
        assert!(names(&["*"]).is_empty());
    }
}
