//! Changes with their intervals, one below the other, around the line of no change.

use super::axis::Axis;
use super::style::{Fill, Style};
use super::svg::{Anchor, Canvas, LETTER, clipped};

const WIDTH: f64 = 1000.0;
const ROW: f64 = 24.0;
const HEAD: f64 = 44.0;
const FOOT: f64 = 46.0;
const GAP: f64 = 26.0;
/// Room for the figure at the end of each row.
const FIGURE: f64 = 58.0;
/// The most that a row's names may take.
const MOST: f64 = 200.0;

/// Metrics side by side, the same rows in each.
pub(in crate::render) struct Forest {
    pub(in crate::render) rows: Vec<Row>,
    pub(in crate::render) panels: Vec<Panel>,
}

/// One variant at one level.
pub(in crate::render) struct Row {
    /// The level; rows of one follow each other.
    pub(in crate::render) group: String,
    /// The variant; empty where there is one only.
    pub(in crate::render) name: String,
    pub(in crate::render) style: Style,
}

/// One metric.
pub(in crate::render) struct Panel {
    pub(in crate::render) title: String,
    /// What noise alone may reach, on either side of zero.
    pub(in crate::render) noise: Option<f64>,
    /// In the order of the rows.
    pub(in crate::render) entries: Vec<Option<Entry>>,
}

/// One change in per cent.
pub(in crate::render) struct Entry {
    pub(in crate::render) percent: f64,
    pub(in crate::render) ci: [f64; 2],
    /// As the tables have it.
    pub(in crate::render) told: String,
    /// Solid where a difference is shown after correction.
    pub(in crate::render) fill: Fill,
}

impl Forest {
    pub(in crate::render) fn draw(&self) -> Canvas {
        let width = |of: fn(&Row) -> &String| {
            let longest = self.rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0);
            if longest == 0 { 0.0 } else { (longest as f64 * LETTER + 16.0).min(MOST) }
        };
        let (groups, names) = (width(|row| &row.group), width(|row| &row.name));
        let height = HEAD + self.rows.len() as f64 * ROW + FOOT;
        let mut canvas = Canvas::new(WIDTH, height);
        let mut striped = false;
        for (index, row) in self.rows.iter().enumerate() {
            let middle = HEAD + (index as f64 + 0.5) * ROW;
            let first = index == 0 || self.rows[index - 1].group != row.group;
            striped ^= first;
            if striped {
                canvas.rect("stripe", (0.0, middle - ROW / 2.0), (WIDTH, middle + ROW / 2.0));
            }
            if first {
                canvas.text("label", Anchor::Start, (6.0, middle + 4.5), &clipped(&row.group, MOST));
            }
            canvas.text("label", Anchor::Start, (groups, middle + 4.5), &clipped(&row.name, MOST));
        }
        let left = groups + names + 6.0;
        let room = (WIDTH - left) / self.panels.len().max(1) as f64;
        for (index, panel) in self.panels.iter().enumerate() {
            let left = left + index as f64 * room;
            self.panel(&mut canvas, panel, left, left + room - GAP, height - FOOT);
        }
        canvas
    }

    fn panel(&self, canvas: &mut Canvas, panel: &Panel, left: f64, right: f64, bottom: f64) {
        let ends = panel.entries.iter().flatten().flat_map(|entry| entry.ci).chain([0.0]);
        let (low, high) = ends.fold((0.0, 0.0), |(low, high): (f64, f64), end| (low.min(end), high.max(end)));
        let axis = Axis::even(low, high.max(low + 0.1), 4, (left, right - FIGURE));
        canvas.text("title", Anchor::Start, (left, 18.0), &panel.title);
        for (value, label) in &axis.ticks {
            let at = axis.px(*value);
            canvas.line("grid", (at, HEAD), (at, bottom));
            canvas.text("tick", Anchor::Middle, (at, bottom + 16.0), label);
        }
        if let Some(noise) = panel.noise {
            canvas.rect("noise", (axis.px(-noise), HEAD), (axis.px(noise), bottom));
        }
        canvas.line("zero", (axis.px(0.0), HEAD - 4.0), (axis.px(0.0), bottom));
        canvas.text("unit", Anchor::Start, (left, bottom + 34.0), "change, %");
        for ((row, entry), index) in self.rows.iter().zip(&panel.entries).zip(0..) {
            let middle = HEAD + (f64::from(index) + 0.5) * ROW;
            match entry {
                Some(entry) => entry.draw(canvas, row, &axis, middle, right),
                None => canvas.text("none", Anchor::End, (right, middle + 4.5), "none"),
            }
        }
    }
}

impl Entry {
    fn draw(&self, canvas: &mut Canvas, row: &Row, axis: &Axis, middle: f64, right: f64) {
        let [low, high] = self.ci.map(|end| axis.px(end));
        let class = format!("bar {}", row.style.class());
        canvas.line(&class, (low, middle), (high, middle));
        for end in [low, high] {
            canvas.line(&class, (end, middle - 4.0), (end, middle + 4.0));
        }
        row.style.mark(
            canvas,
            (axis.px(self.percent), middle),
            self.fill,
            &format!("{} {}: {}", row.group, row.name, self.told),
        );
        canvas.text("figure", Anchor::End, (right, middle + 4.5), &self.told);
    }
}
