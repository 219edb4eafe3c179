//! The frame of a chart: grid, ticks, and what the axes are.

use super::axis::Axis;
use super::svg::{Anchor, Canvas};

/// Width of a digit of a tick's label.
const DIGIT: f64 = 7.0;
/// Right of the axes, before the chart ends.
const ROOM: f64 = 8.0;

/// Where the axes of a chart are, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::render) struct Plot {
    pub(in crate::render) left: f64,
    pub(in crate::render) top: f64,
    pub(in crate::render) right: f64,
    pub(in crate::render) bottom: f64,
}

impl Plot {
    /// For the horizontal axis.
    pub(in crate::render) fn across(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// For the vertical axis, which grows upwards.
    pub(in crate::render) fn up(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }

    /// Draws what does not depend on the figures. The vertical axis is named above it, where it can be read without
    /// turning one's head.
    pub(in crate::render) fn frame(&self, canvas: &mut Canvas, x: (&Axis, &str), y: (&Axis, &str)) {
        for (value, label) in &y.0.ticks {
            let at = y.0.px(*value);
            canvas.line("grid", (self.left, at), (self.right, at));
            canvas.text("tick", Anchor::End, (self.left - 6.0, at + 4.0), label);
        }
        let mut free_from = f64::NEG_INFINITY;
        for (value, label) in &x.0.ticks {
            let at = x.0.px(*value);
            canvas.line("axis", (at, self.bottom), (at, self.bottom + 4.0));
            let half = label.chars().count() as f64 * DIGIT / 2.0;
            if at - half >= free_from {
                let centre = at.min(self.right + ROOM - half);
                canvas.text("tick", Anchor::Middle, (centre, self.bottom + 17.0), label);
                free_from = at + half + DIGIT;
            }
        }
        canvas.line("axis", (self.left, self.bottom), (self.right, self.bottom));
        canvas.text("unit", Anchor::Start, (4.0, self.top - 10.0), y.1);
        canvas.text("unit", Anchor::End, (self.right, self.bottom + 33.0), x.1);
    }
}
