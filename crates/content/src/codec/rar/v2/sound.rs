//! Sound of RAR 2: each sample is predicted from those before it, by weights that follow. Rule: one byte in, one out.

/// The most channels.
const CHANNELS_MAX: usize = 4;
/// How many differences are weighed, the last one of the channel before.
const DELTAS: usize = 5;

/// All channels.
#[derive(Default)]
pub(super) struct Sound {
    voices: [Voice; CHANNELS_MAX],
    channels: usize,
    channel: usize,
    /// The last difference of the channel before.
    delta: i32,
}

#[derive(Default)]
struct Voice {
    last: u8,
    last_delta: i32,
    deltas: [i32; DELTAS - 1],
    weights: [i32; DELTAS],
    misses: [u32; 2 * DELTAS + 1],
    count: u32,
}

impl Sound {
    /// From here on there are so many, 1 to 4.
    pub(super) fn set_channels(&mut self, channels: usize) {
        self.channels = channels.clamp(1, CHANNELS_MAX);
        if self.channel >= self.channels {
            self.channel = 0;
        }
    }

    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// The one whose byte is next.
    pub(super) fn channel(&self) -> usize {
        self.channel
    }

    /// The sample of the channel at hand, by what its prediction was off.
    pub(super) fn next(&mut self, off: u8) -> u8 {
        let sample = self.voices[self.channel].next(off, &mut self.delta);
        self.channel = (self.channel + 1) % self.channels.max(1);
        sample
    }
}

impl Voice {
    fn next(&mut self, off: u8, channel_delta: &mut i32) -> u8 {
        self.count = self.count.wrapping_add(1);
        let [d1, d2, d3, _] = self.deltas;
        self.deltas = [self.last_delta, self.last_delta - d1, d2, d3];
        let [d1, d2, d3, d4] = self.deltas;
        let all = [d1, d2, d3, d4, *channel_delta];
        let weighed: i32 = self.weights.iter().zip(all).map(|(weight, delta)| weight * delta).sum();
        let predicted = (8 * i32::from(self.last) + weighed) >> 3;
        let sample = (predicted as u8).wrapping_sub(off);
        let miss = i32::from(off as i8) << 3;
        self.misses[0] = self.misses[0].wrapping_add(miss.unsigned_abs());
        for (pair, delta) in self.misses[1..].chunks_exact_mut(2).zip(all) {
            pair[0] = pair[0].wrapping_add((miss - delta).unsigned_abs());
            pair[1] = pair[1].wrapping_add((miss + delta).unsigned_abs());
        }
        self.last_delta = i32::from(sample.wrapping_sub(self.last) as i8);
        *channel_delta = self.last_delta;
        self.last = sample;
        if self.count.is_multiple_of(32) {
            self.weigh();
        }
        sample
    }

    /// The change of a weight that would have been off least is made.
    fn weigh(&mut self) {
        let least = (0..self.misses.len()).min_by_key(|at| self.misses[*at]).unwrap_or(0);
        self.misses = [0; 2 * DELTAS + 1];
        let Some(change) = least.checked_sub(1) else { return };
        let weight = &mut self.weights[change / 2];
        match change % 2 {
            0 if *weight >= -16 => *weight -= 1,
            1 if *weight < 16 => *weight += 1,
            _ => {}
        }
    }
}
