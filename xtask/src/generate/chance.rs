//! Numbers that look random and are the same in every run.

#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(0x0ff5_4007)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    /// From 0 to 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Mostly small, sometimes large: an exponential spread around `mean`.
    pub(crate) fn around(&mut self, mean: f64) -> usize {
        (-(1.0 - self.fraction()).ln() * mean) as usize
    }

    /// A long tail: `median`, spread by `sigma`.
    pub(crate) fn long_tailed(&mut self, median: f64, sigma: f64, most: usize) -> usize {
        let sum: f64 = (0..12).map(|_| self.fraction()).sum::<f64>() - 6.0;
        ((median * (sum * sigma).exp()) as usize).clamp(16, most)
    }
}

fn mix(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Eight hex digits, different for every number below 2^32.
pub(crate) fn short_id(number: usize) -> String {
    format!("{:08x}", (number as u32).wrapping_mul(0x9e37_79b1))
}

pub(crate) fn uuid(number: u64) -> String {
    let (high, low) = (mix(number), mix(number ^ 0xdead_beef));
    let hex = format!("{high:016x}{low:016x}");
    format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}
