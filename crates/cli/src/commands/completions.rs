//! `offshoot completions SHELL`: what makes a shell complete commands and options.

use clap::CommandFactory;

use crate::Answer;
use crate::args::{Args, CompletionsArgs};

pub(crate) fn run(args: &CompletionsArgs) -> Answer {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "offshoot", &mut bytes);
    Answer { bytes, ..Answer::default() }
}
