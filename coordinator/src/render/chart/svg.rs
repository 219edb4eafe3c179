//! SVG, element by element.

use std::borrow::Cow;
use std::fmt::Write;

/// Width of a letter of a chart's words, on average.
pub(in crate::render) const LETTER: f64 = 7.0;

/// Text as markup: nothing of it is taken for a tag or an attribute's end.
pub(in crate::render) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// Which end of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::render) enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A place in pixels.
pub(in crate::render) type Place = (f64, f64);

/// A drawing under way.
#[derive(Debug)]
pub(in crate::render) struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

/// A coordinate: tenths of a pixel are all that a screen shows.
pub(in crate::render) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    if tenths == 0.0 { "0".to_owned() } else { tenths.to_string() }
}

impl Canvas {
    pub(in crate::render) fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, body: String::new() }
    }

    pub(in crate::render) fn line(&mut self, class: &str, from: Place, to: Place) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        self.put(format_args!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    /// From one corner to the opposite one.
    pub(in crate::render) fn rect(&mut self, class: &str, from: Place, to: Place) {
        let (x, y) = (px(from.0.min(to.0)), px(from.1.min(to.1)));
        let (width, height) = (px((to.0 - from.0).abs()), px((to.1 - from.1).abs()));
        self.put(format_args!(r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#));
    }

    pub(in crate::render) fn text(&mut self, class: &str, anchor: Anchor, at: Place, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let (x, y, words) = (px(at.0), px(at.1), escape(words));
        self.put(format_args!(r#"<text class="{class}" x="{x}" y="{y}"{anchor}>{words}</text>"#));
    }

    /// A path; what it is called is shown to who points at it.
    pub(in crate::render) fn path(&mut self, class: &str, d: &str, name: Option<&str>) {
        match name {
            None => self.put(format_args!(r#"<path class="{class}" d="{d}"/>"#)),
            Some(name) => {
                let name = escape(name);
                self.put(format_args!(r#"<path class="{class}" d="{d}"><title>{name}</title></path>"#));
            }
        }
    }

    /// The element, with its title and description; `id` is used nowhere else on the page.
    pub(in crate::render) fn finish(self, id: &str, title: &str, description: &str) -> String {
        let (width, height) = (px(self.width), px(self.height));
        let (title, description) = (escape(title), escape(description));
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>\n{}</svg>\n",
            self.body
        )
    }

    /// The element without words, for something that the text beside it says.
    pub(in crate::render) fn ornament(self) -> String {
        let (width, height) = (px(self.width), px(self.height));
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" aria-hidden=\"true\">{}</svg>",
            self.body
        )
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        self.body.write_fmt(element).expect("a string takes every letter");
        self.body.push('\n');
    }
}

/// Text that fits a width: cut, and an ellipsis where it was.
pub(in crate::render) fn clipped(text: &str, width: f64) -> String {
    let room = (width / LETTER) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['\u{2026}']).collect()
}

/// Straight lines from place to place, a gap wherever there is none. Steps are relative and whole tenths: hundreds of runs have
/// one each.
pub(in crate::render) fn polyline(places: impl Iterator<Item = Option<Place>>) -> String {
    let mut d = String::new();
    let mut last: Option<(i64, i64)> = None;
    for place in places {
        let Some((x, y)) = place.map(|(x, y)| ((x * 10.0).round() as i64, (y * 10.0).round() as i64)) else {
            last = None;
            continue;
        };
        let (command, dx, dy) = match last {
            None => ("M", x, y),
            Some((from_x, from_y)) => ("l", x - from_x, y - from_y),
        };
        write!(d, "{command}{} {}", px(dx as f64 / 10.0), px(dy as f64 / 10.0)).expect("a string takes every letter");
        last = Some((x, y));
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_study_says_becomes_markup() {
        assert_eq!(escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text("t", Anchor::Start, (1.0, 2.0), "</text><script>");
        canvas.path("p", "M0 0", Some("<b>"));
        let svg = canvas.finish("f", "<t>", "\"d\"");
        for raw in ["<script>", "<b>", "<t>"] {
            assert!(!svg.contains(raw), "{svg}");
        }
        assert!(svg.contains("aria-labelledby=\"f-t f-d\"") && svg.contains("<desc id=\"f-d\">&quot;d&quot;</desc>"));
    }

    #[test]
    fn coordinates_are_short() {
        for (value, text) in [(1.0, "1"), (1.26, "1.3"), (-0.04, "0"), (123.456, "123.5"), (-2.5, "-2.5")] {
            assert_eq!(px(value), text);
        }
    }

    #[test]
    fn long_names_are_cut_to_their_room() {
        assert_eq!(clipped("read-only", 70.0), "read-only");
        assert_eq!(clipped("read-only-64vu", 70.0), "read-only\u{2026}");
    }

    #[test]
    fn a_missing_value_is_a_gap() {
        let places = [Some((0.0, 1.0)), Some((1.0, 2.0)), None, Some((3.0, 2.5)), Some((4.0, 2.5))];
        assert_eq!(polyline(places.into_iter()), "M0 1l1 1M3 2.5l1 0");
        assert_eq!(polyline([None, None].into_iter()), "");
    }
}
