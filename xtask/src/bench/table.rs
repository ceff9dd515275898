//! Figures of several rounds, and how they are shown.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Value, json};

const OURS: &str = "offshoot";

pub(super) struct Figure {
    name: &'static str,
    preset: &'static str,
    format: String,
    goal: Option<f64>,
    /// By program, one per round.
    times: BTreeMap<String, Vec<f64>>,
    peaks: BTreeMap<String, f64>,
    /// Of the fastest peer to ours, one per round.
    ratios: Vec<f64>,
}

impl Figure {
    pub(super) fn new(name: &'static str, preset: &'static str, format: &str, goal: Option<f64>) -> Self {
        let format = format.to_owned();
        Self {
            name,
            preset,
            format,
            goal,
            times: BTreeMap::new(),
            peaks: BTreeMap::new(),
            ratios: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, round: &[(String, Value)], field: &str) -> Result<()> {
        let (mut ours, mut fastest) = (None, None);
        for (program, told) in round {
            let time =
                told[field].as_f64().with_context(|| format!("{program} told no `{field}`: {told}"))?;
            self.times.entry(program.clone()).or_default().push(time);
            let peak = self.peaks.entry(program.clone()).or_default();
            *peak = peak.max(told["peak_mb"].as_f64().unwrap_or(0.0));
            if program == OURS {
                ours = Some(time);
            } else {
                fastest = Some(fastest.map_or(time, |fastest: f64| fastest.min(time)));
            }
        }
        if let (Some(ours), Some(fastest)) = (ours, fastest) {
            self.ratios.push(fastest / ours);
        }
        Ok(())
    }

    fn ratio(&self) -> Option<f64> {
        median(&self.ratios)
    }

    pub(super) fn line(&self) -> String {
        let times: Vec<String> = self
            .times
            .iter()
            .map(|(program, times)| {
                let peak = self.peaks.get(program).copied().unwrap_or(0.0);
                format!("{program} {:.2} ms ({peak:.0} MB)", median(times).unwrap_or(0.0))
            })
            .collect();
        let ratio = self.ratio().map(|ratio| format!("  {ratio:.1}x")).unwrap_or_default();
        format!("{:<26} {:<12} {:<8} {}{ratio}", self.name, self.preset, self.format, times.join(", "))
    }

    /// What was asked of it and not reached, in words.
    pub(super) fn missed(&self, limits: &[(&str, &str, Option<f64>, Option<f64>)]) -> Vec<String> {
        let what = format!("{}, {} ({})", self.name, self.preset, self.format);
        let ratio = self.ratio().zip(self.goal).filter(|(ratio, goal)| ratio < goal);
        let mut missed: Vec<String> = ratio
            .map(|(ratio, goal)| format!("{what}: {ratio:.1}×, asked for {goal:.1}×"))
            .into_iter()
            .collect();
        let ms = self.times.get(OURS).and_then(|times| median(times));
        let peak = self.peaks.get(OURS).copied();
        for (_, _, most_ms, most_mb) in
            limits.iter().filter(|(name, preset, ..)| (*name, *preset) == (self.name, self.preset))
        {
            for (told, most, unit) in [(ms, most_ms, "ms"), (peak, most_mb, "MB")] {
                let over = told.zip(*most).filter(|(told, most)| told > most);
                missed.extend(
                    over.map(|(told, most)| format!("{what}: {told:.1} {unit}, asked for {most} {unit}")),
                );
            }
        }
        missed
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name, "preset": self.preset, "format": self.format, "goal": self.goal,
            "times_ms": self.times, "peaks_mb": self.peaks, "ratios": self.ratios, "ratio": self.ratio(),
        })
    }
}

pub(super) fn markdown(figures: &[Figure]) -> String {
    let mut table = String::from(
        "| what | session | format | offshoot ms | pi ms | pi 1.5 ms | oh-my-pi ms | Claude's SDK ms | faster peer ÷ ours | asked | peak MB |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for figure in figures {
        let time = |program: &str| {
            let time = figure.times.get(program).and_then(|times| median(times));
            time.map_or("–".to_owned(), |time| format!("{time:.2}"))
        };
        let times = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}×"));
        table.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} |\n",
            figure.name,
            figure.preset,
            figure.format,
            time(OURS),
            time("pi"),
            time("pi-1.5"),
            time("oh-my-pi"),
            time("claude-sdk"),
            times(figure.ratio()),
            times(figure.goal.filter(|_| figure.format != "journal")),
            figure.peaks.get(OURS).copied().unwrap_or(0.0),
        ));
    }
    table
}

pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
