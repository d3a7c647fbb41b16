//! What an icon looks like, in a few numbers, and how alike two of them are. Rule: whole numbers, rounded as ClamAV rounds
//! them, since icons are listed by them.
//!
//! The areas, a quarter of a side wide, that are the most and the least coloured, the brightest and darkest, and those with
//! the most and the fewest edges, three of each that do not overlap; and how much of which colour there is.

use super::picture::Picture;

/// Which areas.
const COLOURED: usize = 0;
const GREY: usize = 1;
const BRIGHT: usize = 2;
const DARK: usize = 3;
const EDGED: usize = 4;
const EVEN: usize = 5;

/// How far apart colours of two areas may be, and other levels.
const COLOUR_MAX: u32 = 4072;
const LEVEL_MAX: u32 = 255;

/// A look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    side: u32,
    areas: [[Area; 3]; 6],
    /// Red, green and blue in its colours, in hundredths.
    spread: [u32; 3],
    /// Hundredths of it that are coloured.
    coloured: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Area {
    x: u32,
    y: u32,
    level: u32,
}

/// How a list of icons writes a look: bytes of digits.
pub(crate) const LISTED_BYTES: usize = 62;

impl Look {
    /// As a list has it; `None` where it cannot be one.
    pub fn listed(bytes: &[u8; LISTED_BYTES]) -> Option<Self> {
        let mut digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(u32::from);
        let mut number =
            |count: usize| digits.by_ref().take(count).fold(0, |number, digit| number << 4 | digit);
        let side = number(2);
        let mut look = Self { side, ..Self::default() };
        if !matches!(side, 16 | 24 | 32) {
            return None;
        }
        for (which, areas) in look.areas.iter_mut().enumerate() {
            let is_colour = matches!(which, COLOURED | GREY);
            for area in areas {
                *area = Area { level: number(if is_colour { 3 } else { 2 }), x: number(2), y: number(2) };
                let most = side - side / 8;
                if (is_colour && area.level > COLOUR_MAX) || area.x > most || area.y > most {
                    return None;
                }
            }
        }
        look.spread = [number(2), number(2), number(2)];
        look.coloured = number(2);
        (look.spread.iter().sum::<u32>() <= 103 && look.coloured <= 100).then_some(look)
    }

    /// Of a picture.
    pub(super) fn of(picture: &Picture) -> Self {
        let side = picture.side;
        let mut look = Self { side: side as u32, ..Self::default() };
        let points: Vec<Point> = picture.points.iter().map(|point| Point::new(*point)).collect();
        let vivid =
            |point: &Point| f64::from(point.saturation * point.saturation * point.value).sqrt() as u32;
        let colours = Windows::of(side, &points.iter().map(vivid).collect::<Vec<_>>());
        let lights = Windows::of(side, &points.iter().map(|point| point.value).collect::<Vec<_>>());
        look.areas[COLOURED] = three(&colours.extremes(3, Extreme::Most));
        look.areas[GREY] = three(&colours.extremes(3, Extreme::Least));
        look.areas[BRIGHT] = three(&lights.extremes(3, Extreme::Most));
        look.areas[DARK] = three(&lights.extremes(3, Extreme::Least));
        look.count_colours(&points);
        let edges = Windows::of(side, &blurred(side, &edges(picture)));
        let count = if look.coloured == 0 { 6 } else { 3 };
        let (edged, even) = (edges.extremes(count, Extreme::Most), edges.extremes(count, Extreme::Least));
        look.areas[EDGED] = three(&edged);
        look.areas[EVEN] = three(&even);
        if let (Some(more_edged), Some(more_even)) = (edged.get(3..6), even.get(3..6)) {
            // What has no colours has more edges in their place; as ClamAV has it, what has few stands where the others do.
            look.areas[COLOURED] = three(more_edged);
            look.areas[GREY] = three(more_edged);
            for (area, even) in look.areas[GREY].iter_mut().zip(more_even) {
                area.level = even.level;
            }
        }
        look
    }

    /// As a list has it.
    #[cfg(test)]
    pub fn digits(&self) -> String {
        let mut digits = format!("{:02x}", self.side);
        for (which, areas) in self.areas.iter().enumerate() {
            for Area { x, y, level } in areas {
                let width = if matches!(which, COLOURED | GREY) { 3 } else { 2 };
                digits += &format!("{level:0width$x}{x:02x}{y:02x}");
            }
        }
        let [red, green, blue] = self.spread;
        digits + &format!("{red:02x}{green:02x}{blue:02x}{:02x}", self.coloured)
    }

    fn count_colours(&mut self, points: &[Point]) {
        let (mut count, mut spread) = (0, [0; 3]);
        for point in points.iter().filter(|point| point.saturation > 85 && point.value > 85) {
            let [r, g, b] = point.colours;
            count += 1;
            for (sum, (one, other)) in spread.iter_mut().zip([(g, b), (r, b), (r, g)]) {
                *sum += 100 - 100 * one.abs_diff(other) / point.delta;
            }
        }
        let share = count * 100 / self.side / self.side;
        if share > 5 {
            self.coloured = share;
            self.spread = spread.map(|sum| sum / count);
        }
    }

    /// Whether another one, that of a list, is so much alike that it counts as the same.
    pub fn is_like(&self, listed: &Self) -> bool {
        let size = |look: &Self| look.side >> 3;
        if size(self) != size(listed) {
            return false;
        }
        let alike = |which: &[usize], most: u32| {
            let areas = |look: &Self| which.iter().flat_map(|which| look.areas[*which]).collect::<Vec<_>>();
            likeness(self.side, &areas(self), &areas(listed), most)
        };
        let (bright, dark) = (alike(&[BRIGHT], LEVEL_MAX), alike(&[DARK], LEVEL_MAX));
        if self.coloured == 0 && listed.coloured == 0 {
            let edged = alike(&[EDGED, COLOURED], LEVEL_MAX);
            let even = alike(&[EVEN, GREY], LEVEL_MAX);
            return (bright + dark + edged * 2 + even) / 6 >= 70;
        }
        let (edged, even) = (alike(&[EDGED], LEVEL_MAX), alike(&[EVEN], LEVEL_MAX));
        let (coloured, grey) = if self.coloured != 0 && listed.coloured != 0 {
            (alike(&[COLOURED], COLOUR_MAX), alike(&[GREY], COLOUR_MAX))
        } else {
            (0, 0)
        };
        let near = |one: u32, other: u32| 100 - (one.abs_diff(other) * 10).min(100);
        let spread = self.spread.iter().zip(&listed.spread).map(|(one, other)| near(*one, *other));
        let colours = (spread.sum::<u32>() + near(self.coloured, listed.coloured)) / 4;
        let sum = coloured + (grey + bright + even) * 2 / 3 + dark + edged + colours;
        // Small icons are all alike.
        sum / 6 >= 64 + 4 * (4 - size(listed))
    }
}

fn three(areas: &[Area]) -> [Area; 3] {
    std::array::from_fn(|at| areas.get(at).copied().unwrap_or_default())
}

/// How near areas lie to those of another look that have much the same level, in hundredths.
fn likeness(side: u32, own: &[Area], listed: &[Area], most: u32) -> u32 {
    let reach = side / 4 * 3 / 4;
    let near = |one: &Area, other: &Area| {
        let (x, y) = (one.x.abs_diff(other.x), one.y.abs_diff(other.y));
        let distance = f64::from(x * x + y * y).sqrt() as u32;
        let is_near = distance <= reach && one.level.abs_diff(other.level) <= most / 5;
        if is_near { 100 - distance * 60 / reach } else { 0 }
    };
    let best = |one: &Area| listed.iter().map(|other| near(one, other)).max().unwrap_or(0);
    own.iter().map(best).sum::<u32>() / own.len().max(1) as u32
}

/// A point's colour.
struct Point {
    colours: [u32; 3],
    delta: u32,
    saturation: u32,
    value: u32,
}

impl Point {
    fn new(point: u32) -> Self {
        let colours = [point >> 16 & 0xff, point >> 8 & 0xff, point & 0xff];
        let [r, g, b] = colours;
        let value = r.max(g).max(b);
        let delta = value - r.min(g).min(b);
        let saturation = if delta == 0 { 0 } else { 255 * delta / value };
        Self { colours, delta, saturation, value }
    }
}

/// The sums of all areas.
struct Windows {
    side: usize,
    width: usize,
    sums: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extreme {
    Most,
    Least,
}

impl Windows {
    fn of(side: usize, levels: &[u32]) -> Self {
        let width = side / 4;
        let sum = |x: usize, y: usize| {
            let lines = levels.chunks_exact(side).skip(y).take(width);
            lines.map(|line| line.iter().skip(x).take(width).sum::<u32>()).sum()
        };
        let sums = (0..side * side).map(|place| sum(place % side, place / side)).collect();
        Self { side, width, sums }
    }

    /// So many areas with the greatest or the least sums, none over another, with their means.
    fn extremes(&self, count: usize, extreme: Extreme) -> Vec<Area> {
        let width = self.width as u32;
        let mut areas: Vec<Area> = Vec::with_capacity(count);
        for _ in 0..count {
            let level = if extreme == Extreme::Most { 0 } else { u32::MAX };
            let mut best = Area { x: 0, y: 0, level };
            // As ClamAV has it, the last ones are not looked at.
            for y in 0..self.side - self.width {
                for x in 0..self.side - self.width - 1 {
                    let level = self.sums.get(y * self.side + x).copied().unwrap_or(0);
                    let is_better = match extreme {
                        Extreme::Most => level > best.level,
                        Extreme::Least => level < best.level,
                    };
                    let here = Area { x: x as u32, y: y as u32, level };
                    let overlaps =
                        |other: &Area| here.x.abs_diff(other.x) < width && here.y.abs_diff(other.y) < width;
                    if is_better && !areas.iter().any(overlaps) {
                        best = here;
                    }
                }
            }
            areas.push(best);
        }
        for area in &mut areas {
            area.level /= width * width;
        }
        areas
    }
}

/// How steep the picture is at each point, in 256 steps up to the steepest.
fn edges(picture: &Picture) -> Vec<u32> {
    let side = picture.side;
    let greys: Vec<f64> = picture.points.iter().map(|point| from_grey(*point)).collect();
    let inside = |place: usize| {
        let (x, y) = (place % side, place / side);
        x > 0 && y > 0 && x < side - 1 && y < side - 1
    };
    let steep = |place: usize| {
        let at = |x: usize, y: usize| greys.get(place + y * side + x - side - 1).copied().unwrap_or(0.0);
        let across = at(0, 0) + at(0, 1) * 2.0 + at(0, 2) - at(2, 0) - at(2, 1) * 2.0 - at(2, 2);
        let down = at(0, 0) + at(1, 0) * 2.0 + at(2, 0) - at(0, 2) - at(1, 2) * 2.0 - at(2, 2);
        (across * across + down * down).sqrt() as u32
    };
    let all = || (0..side * side).map(|place| if inside(place) { steep(place) } else { 0 });
    match all().max().unwrap_or(0) {
        0 => {
            // As ClamAV has it: where there are none, what is blue stands for them.
            let points = picture.points.iter().enumerate();
            points.map(|(place, point)| if inside(place) { point & 0xff } else { 0 }).collect()
        }
        most => all().map(|steep| steep * 255 / most).collect(),
    }
}

/// Blurred across and down; as ClamAV has it, down what has been blurred already is blurred again.
fn blurred(side: usize, levels: &[u32]) -> Vec<u32> {
    let mut across = levels.to_vec();
    let inside = || (1..side - 1).flat_map(|y| (1..side - 1).map(move |x| y * side + x));
    for place in inside() {
        if let (Some(place), Some([before, here, after])) =
            (across.get_mut(place), levels.get(place - 1..place + 2))
        {
            *place = (before + 2 * here + after) / 4;
        }
    }
    for place in inside() {
        let at = |place: usize| across.get(place).copied().unwrap_or(0);
        let mean = (at(place - side) + 2 * at(place) + at(place + side)) / 4;
        if let Some(place) = across.get_mut(place) {
            *place = mean;
        }
    }
    across
}

/// How far a colour is from grey in the middle, as the eye sees it: in CIE L*a*b*, with the constants as short as ClamAV has them.
fn from_grey(point: u32) -> f64 {
    let short = f64::from;
    let linear = |shift: u32| {
        let part = f64::from(point >> shift & 0xff) / 255.0;
        let part = if part > short(0.04045_f32) {
            ((part + short(0.055_f32)) / short(1.055_f32)).powf(short(2.4_f32))
        } else {
            part / short(12.92_f32)
        };
        part * 100.0
    };
    let (r, g, b) = (linear(16), linear(8), linear(0));
    let root = |part: f64| {
        if part > short(0.008856_f32) {
            part.powf(short(1.0_f32 / 3.0_f32))
        } else {
            short(7.787_f32) * part + short(16.0_f32 / 116.0_f32)
        }
    };
    let x = root((r * short(0.4124_f32) + g * short(0.3576_f32) + b * short(0.1805_f32)) / short(95.047_f32));
    let y = root((r * short(0.2126_f32) + g * short(0.7152_f32) + b * short(0.0722_f32)) / 100.0);
    let z =
        root((r * short(0.0193_f32) + g * short(0.1192_f32) + b * short(0.9505_f32)) / short(108.883_f32));
    let grey = [53.19278_f32, 0.003_142_094_2_f32, -0.006_207_587_7_f32].map(short);
    let own = [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)];
    own.iter().zip(grey).map(|(own, grey)| (grey - own) * (grey - own)).sum::<f64>().sqrt()
}
