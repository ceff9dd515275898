//! What an agent prints while it signs in. Each event has all lines so far, and only new ones are shown.

#[derive(Debug, Default)]
pub(crate) struct SignInOutput {
    shown: usize,
}

impl SignInOutput {
    /// The lines that were not shown yet.
    pub(crate) fn new_lines<'l>(&mut self, lines: &'l [String], is_done: bool) -> &'l [String] {
        let new = lines.get(self.shown..).unwrap_or_default();
        self.shown = if is_done { 0 } else { self.shown.max(lines.len()) };
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_shown_once() {
        let lines = |count: usize| (0..count).map(|line| line.to_string()).collect::<Vec<_>>();
        let mut output = SignInOutput::default();
        let mut shown = |count, is_done| output.new_lines(&lines(count), is_done).concat();
        assert_eq!(shown(1, false), "0");
        assert_eq!(shown(3, false), "12");
        assert_eq!(shown(3, true), "");
        // Another sign-in begins.
        assert_eq!(shown(2, false), "01");
    }
}
