//! The page under way: headings, words, tables and figures as markup.

use crate::render::chart::{Canvas, escape};
use crate::render::column::{Align, Column};

/// Tables of so many rows are open from the start.
const FEW: usize = 12;
/// An entry of so many letters may be broken over lines.
const LONG: usize = 40;

/// Sections in their order.
#[derive(Debug, Default)]
pub(super) struct Page {
    body: String,
    /// Anchor and words of each heading.
    headings: Vec<(&'static str, String)>,
    figures: u32,
}

/// Whether something that can be folded away is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// It is until somebody asks.
    Closed,
    /// It is not.
    Open,
}

impl Page {
    pub(super) fn body(&self) -> &str {
        &self.body
    }

    /// Markup as it is.
    pub(super) fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    pub(super) fn heading(&mut self, id: &'static str, words: &str) {
        self.raw(&format!("<h2 id=\"{id}\">{}</h2>\n", escape(words)));
        self.headings.push((id, words.to_owned()));
    }

    pub(super) fn subheading(&mut self, words: &str) {
        self.raw(&format!("<h3>{}</h3>\n", escape(words)));
    }

    pub(super) fn paragraph(&mut self, words: &str) {
        self.raw(&format!("<p>{}</p>\n", escape(words)));
    }

    pub(super) fn list(&mut self, items: &[String]) {
        self.raw("<ul>\n");
        for item in items {
            self.raw(&format!("<li>{}</li>\n", escape(item)));
        }
        self.raw("</ul>\n");
    }

    /// Terms and what there is to say of them.
    pub(super) fn terms(&mut self, terms: &[(&str, String)]) {
        self.raw("<dl>\n");
        for (term, words) in terms {
            self.raw(&format!("<dt>{}</dt><dd>{}</dd>\n", escape(term), escape(words)));
        }
        self.raw("</dl>\n");
    }

    /// Every column of a table, whatever its rank: a page is as wide as it has to be.
    pub(super) fn table(&mut self, columns: &[Column]) {
        let class = |column: &Column| match (column.align, column.width() > LONG) {
            (Align::Right, _) => " class=\"n\"",
            (Align::Left, true) => " class=\"long\"",
            (Align::Left, false) => "",
        };
        self.raw("<div class=\"wide\"><table>\n<thead><tr>");
        for column in columns {
            self.raw(&format!("<th scope=\"col\"{}>{}</th>", class(column), escape(&column.title)));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for row in 0..columns.first().map_or(0, |column| column.entries.len()) {
            self.raw("<tr>");
            for column in columns {
                self.raw(&format!("<td{}>{}</td>", class(column), escape(&column.entries[row])));
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody></table></div>\n");
    }

    /// Something that can be folded away.
    pub(super) fn folded(&mut self, summary: &str, fold: Fold, inside: impl FnOnce(&mut Page)) {
        let open = if fold == Fold::Open { " open" } else { "" };
        self.raw(&format!("<details{open}><summary>{}</summary>\n", escape(summary)));
        inside(self);
        self.raw("</details>\n");
    }

    /// A chart with what it is called and what it shows, for people who hear it.
    pub(super) fn chart(&mut self, canvas: Canvas, title: &str, description: &str) {
        self.figures += 1;
        let svg = canvas.finish(&format!("chart{}", self.figures), title, description);
        self.raw(&svg);
    }

    /// A chart, or several that belong together, with its figures as a table.
    pub(super) fn figure(&mut self, charts: impl FnOnce(&mut Page), caption: &str, figures: &[Column]) {
        self.raw("<figure>\n");
        charts(self);
        self.raw(&format!("<figcaption>{}</figcaption>\n", escape(caption)));
        let rows = figures.first().map_or(0, |column| column.entries.len());
        let fold = if rows <= FEW { Fold::Open } else { Fold::Closed };
        self.folded("Figures of this chart", fold, |page| page.table(figures));
        self.raw("</figure>\n");
    }

    /// Small charts side by side.
    pub(super) fn grid(&mut self, class: &str, charts: impl FnOnce(&mut Page)) {
        self.raw(&format!("<div class=\"{class}\">\n"));
        charts(self);
        self.raw("</div>\n");
    }

    /// Links to the headings.
    pub(super) fn contents(&self) -> String {
        let links = self.headings.iter().map(|(id, words)| format!("<a href=\"#{id}\">{}</a>", escape(words)));
        format!("<nav aria-label=\"Contents\">{}</nav>\n", links.collect::<Vec<_>>().join(" "))
    }
}
