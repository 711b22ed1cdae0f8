//! What `--repeat` measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of repeated launches in microseconds, by events around each launch, and the rates they mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    pub launches: u32,
    pub warmups: u32,
    pub flush_l2: bool,
    pub min_us: f64,
    pub median_us: f64,
    pub p95_us: f64,
    pub max_us: f64,
    pub mean_us: f64,
    /// At the median, from `--bytes`: 10⁹ bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gigabytes_per_s: Option<f64>,
    /// At the median, from `--flops`: 10⁹ operations a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gigaflops: Option<f64>,
}

/// What one launch does, for the rates.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    pub bytes: Option<f64>,
    pub flops: Option<f64>,
}

impl Timing {
    /// `None` when nothing was measured.
    pub fn new(mut samples: Vec<f64>, warmups: u32, flush_l2: bool, work: Work) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        let count = samples.len();
        let (min_us, max_us) = (*samples.first()?, *samples.last()?);
        let median_us = (samples[(count - 1) / 2] + samples[count / 2]) / 2.0;
        // The nearest rank: the smallest sample that 95 of 100 do not exceed.
        let p95_us = samples[(count * 95).div_ceil(100) - 1];
        let rate = |amount: f64| amount / median_us / 1e3;
        Some(Self {
            launches: count as u32,
            warmups,
            flush_l2,
            min_us,
            median_us,
            p95_us,
            max_us,
            mean_us: samples.iter().sum::<f64>() / count as f64,
            gigabytes_per_s: work.bytes.map(rate),
            gigaflops: work.flops.map(rate),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_rates() {
        let samples = (1..=100).rev().map(f64::from).collect();
        let work = Work {
            bytes: Some(101e3),
            flops: Some(50.5),
        };
        let timing = Timing::new(samples, 3, false, work).unwrap();
        assert_eq!(
            (
                timing.min_us,
                timing.median_us,
                timing.p95_us,
                timing.max_us
            ),
            (1.0, 50.5, 95.0, 100.0)
        );
        assert_eq!(
            (timing.gigabytes_per_s, timing.gigaflops),
            (Some(2.0), Some(0.001))
        );
        assert_eq!(Timing::new(vec![], 0, false, work), None);
        let one = Timing::new(vec![4.0], 0, false, Work::default()).unwrap();
        assert_eq!((one.median_us, one.p95_us), (4.0, 4.0));
    }
}
