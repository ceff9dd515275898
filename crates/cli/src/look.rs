//! How output looks here: how wide, in colour or not, in which signs. The picture is complete without colour.

use std::io::IsTerminal;

use crate::args::LookArgs;

/// Where a terminal does not say how wide it is.
const USUAL_WIDTH: usize = 100;

#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// `None` is a pipe: nothing is cut.
    pub(crate) width: Option<usize>,
    /// Nobody has said how wide; the terminal was asked.
    is_measured: bool,
    pub(crate) ascii: bool,
    pub(crate) quiet: bool,
    /// In a pipe times are exact, for a person they are short.
    pub(crate) for_a_person: bool,
    colour: bool,
    colour_on_stderr: bool,
}

/// What the person has set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    pub(crate) colour: Colour,
    pub(crate) ascii: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Colour {
    /// At a terminal.
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    /// Where you are.
    Accent,
    /// Ids, times, counts.
    Faint,
    Bold,
    Error,
}

impl Look {
    pub(crate) fn of_this_terminal(args: &LookArgs, signs: Signs) -> Self {
        let stdout_is_terminal = std::io::stdout().is_terminal();
        let in_colour = |is_terminal: bool| match signs.colour {
            Colour::Auto => is_terminal && !terminal_is_dumb(),
            Colour::Always => true,
            Colour::Never => false,
        };
        let terminal_width = || {
            let told = variable("COLUMNS").and_then(|columns| columns.parse().ok());
            told.or_else(measured_width).unwrap_or(USUAL_WIDTH)
        };
        Self {
            width: args.width.map(usize::from).or_else(|| stdout_is_terminal.then(terminal_width)),
            is_measured: args.width.is_none() && stdout_is_terminal && variable("COLUMNS").is_none(),
            ascii: signs.ascii || locale_is_not_utf8(),
            quiet: args.quiet,
            for_a_person: stdout_is_terminal || args.width.is_some(),
            colour: in_colour(stdout_is_terminal),
            colour_on_stderr: in_colour(std::io::stderr().is_terminal()),
        }
    }

    /// The same for whoever draws again: the window may have another size by now.
    pub(crate) fn as_wide_as_now(&self) -> Self {
        let width = if self.is_measured { measured_width().or(self.width) } else { self.width };
        Self { width, ..self.clone() }
    }

    /// Without colour, for tests.
    #[cfg(test)]
    pub(crate) fn plain(width: Option<usize>) -> Self {
        Self {
            width,
            is_measured: false,
            ascii: false,
            quiet: false,
            for_a_person: width.is_some(),
            colour: false,
            colour_on_stderr: false,
        }
    }

    pub(crate) fn paint(&self, ink: Ink, text: &str) -> String {
        painted(self.colour, ink, text)
    }

    pub(crate) fn paint_error(&self, ink: Ink, text: &str) -> String {
        painted(self.colour_on_stderr, ink, text)
    }

    pub(crate) fn sign(&self, sign: Sign) -> &'static str {
        let (drawn, ascii) = sign.both();
        if self.ascii { ascii } else { drawn }
    }
}

/// Everything that is drawn rather than written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    OnPath,
    OffPath,
    PathMark,
    Line,
    Tee,
    Corner,
    /// The first of several beginnings.
    TopCorner,
    Dotted,
    EntryTee,
    EntryCorner,
    EntryLine,
    Head,
    /// From one place to another.
    GoesTo,
    Cut,
    Interrupted,
    Error,
    Times,
    /// A session that came from the one above.
    Offspring,
    /// The one of several that is shown.
    Shown,
    /// In the place of a figure that nobody knows.
    Unknown,
    /// States of a turn.
    Starting,
    Running,
    Waiting,
    Compacting,
    Exited,
    NobodyKnows,
}

impl Sign {
    fn both(self) -> (&'static str, &'static str) {
        match self {
            Self::OnPath => ("●", "*"),
            Self::OffPath => ("○", "o"),
            Self::PathMark => ("• ", "* "),
            Self::Line => ("│ ", "| "),
            Self::Tee => ("├─", "|-"),
            Self::Corner => ("╰─", "`-"),
            Self::TopCorner => ("╭─", ".-"),
            Self::Dotted => ("┊", ":"),
            Self::EntryTee => ("├─ ", "|- "),
            Self::EntryCorner => ("└─ ", "`- "),
            Self::EntryLine => ("│  ", "|  "),
            Self::Head => ("← head", "<- head"),
            Self::GoesTo => ("→", "->"),
            Self::Cut => ("…", "..."),
            Self::Interrupted => ("‖", "="),
            Self::Error => ("✕", "x"),
            Self::Times => ("×", "x"),
            Self::Offspring => ("╰ ", "` "),
            Self::Shown => ("›", ">"),
            Self::Unknown => ("–", "-"),
            Self::Starting => ("◌", "."),
            Self::Running => ("◐", "~"),
            Self::Waiting => ("◆", "!"),
            Self::Compacting => ("⌄⌃", "%"),
            Self::Exited => ("□", "-"),
            Self::NobodyKnows => ("?", "?"),
        }
    }
}

fn painted(colour: bool, ink: Ink, text: &str) -> String {
    let code = match ink {
        Ink::Plain => return text.to_owned(),
        Ink::Accent => "36",
        Ink::Faint => "2",
        Ink::Bold => "1",
        Ink::Error => "31",
    };
    if colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

fn measured_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

fn terminal_is_dumb() -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
}

/// Where nothing is set, the terminal is taken to be of this century.
fn locale_is_not_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        !(locale.contains("utf-8") || locale.contains("utf8"))
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
