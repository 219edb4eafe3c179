//! How the series of a chart are told apart: by colour, dash and marker, so that any one of them does.

use super::svg::{Canvas, Place, px};
use crate::analysis::Report;

/// Styles of the page; more series than that begin again.
const STYLES: usize = 7;

/// One series' looks; the page's style sheet has the colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::render) struct Style(usize);

impl Style {
    /// The first is the baseline's, which stands back.
    pub(in crate::render) fn nth(index: usize) -> Style {
        Style(index % STYLES)
    }

    /// The same for one variant in all charts of a report.
    pub(in crate::render) fn of_variant(report: &Report, variant: &str) -> Style {
        let others = report.variants.iter().filter(|other| **other != report.baseline);
        match variant == report.baseline {
            true => Style(0),
            // However many there are, none of them looks like the baseline.
            false => Style(1 + others.take_while(|other| *other != variant).count() % (STYLES - 1)),
        }
    }

    /// Class of its colour and dash.
    pub(in crate::render) fn class(self) -> String {
        format!("s{}", self.0)
    }

    /// A marker at a place. Hollow ones say less.
    pub(in crate::render) fn mark(self, canvas: &mut Canvas, at: Place, fill: Fill, name: &str) {
        let class = match fill {
            Fill::Solid => format!("mark s{}", self.0),
            Fill::Hollow => format!("mark hollow s{}", self.0),
        };
        canvas.path(&class, &self.outline(at), Some(name));
    }

    fn outline(self, (x, y): Place) -> String {
        let start = |dx: f64, dy: f64| format!("M{} {}", px(x + dx), px(y + dy));
        match self.0 {
            0 => format!("{}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", start(-4.0, 0.0)),
            1 => format!("{}h7.6v7.6h-7.6z", start(-3.8, -3.8)),
            2 => format!("{}l4.8 8.4h-9.6z", start(0.0, -5.2)),
            3 => format!("{}l5 5l-5 5l-5 -5z", start(0.0, -5.0)),
            4 => format!("{}l4.8 -8.4h-9.6z", start(0.0, 5.2)),
            5 => format!("{}h3v-3h4v3h3v4h-3v3h-4v-3h-3z", start(-5.0, -2.0)),
            _ => format!("{}h11v5h-11z", start(-5.5, -2.5)),
        }
    }
}

/// Whether a marker is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::render) enum Fill {
    /// It is.
    Solid,
    /// Only its outline is there.
    Hollow,
}

/// The series and what they are called, as a list above a chart.
pub(in crate::render) fn legend<'a>(series: impl Iterator<Item = (Style, &'a str)>) -> String {
    let mut out = "<ul class=\"legend\">".to_owned();
    for (style, name) in series {
        let mut sample = Canvas::new(34.0, 14.0);
        sample.line(&format!("line {}", style.class()), (1.0, 7.0), (33.0, 7.0));
        style.mark(&mut sample, (17.0, 7.0), Fill::Solid, name);
        out.push_str(&format!("<li>{} {}</li>", sample.ornament(), super::svg::escape(name)));
    }
    out.push_str("</ul>\n");
    out
}
