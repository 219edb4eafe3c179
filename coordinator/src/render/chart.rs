//! Charts as inline SVG: pure functions from figures to markup.
//!
//! Each has axes with units, a title and a description for people who hear it, and a table of its figures beside it
//! ([`crate::render::html`] puts them together). Colours and fonts are the page's, by class; series differ by dash and
//! marker too.

pub(super) mod axis;
pub(super) mod forest;
pub(super) mod plot;
pub(super) mod style;
pub(super) mod svg;

pub(super) use axis::Axis;
pub(super) use plot::Plot;
pub(super) use svg::{Anchor, Canvas, escape};
