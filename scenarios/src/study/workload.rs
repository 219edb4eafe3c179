//! `[workload]`, and what a profile changes of it.

mod custom;
mod oltp;
mod tprocc;

use self::oltp::Contradiction;
use super::mistakes::Objection;
use super::section::Section;
use super::value::choice;
use super::{TargetKind, Workload};

/// The study's own workload, which profiles build on.
pub(super) struct Base<'a> {
    section: Section<'a>,
    target: Option<TargetKind>,
    pub workload: Workload,
    contradictions: Vec<Contradiction>,
    sound: bool,
}

/// Kinds of workload.
#[derive(Clone, Copy)]
enum Kind {
    Oltp,
    Tprocc,
    Custom,
}

const KINDS: [(&str, Kind); 3] = [("oltp", Kind::Oltp), ("tprocc", Kind::Tprocc), ("sql", Kind::Custom)];

/// Reads `[workload]`. None when it is of no known kind; that has been reported then.
pub(super) fn base<'a>(root: &Section<'a>, target: Option<TargetKind>) -> Option<Base<'a>> {
    let before = root.mistakes();
    let section = root.section("workload");
    if !section.exists() {
        if !root.has("workload") {
            let remedy = "write [workload] with kind = \"oltp\" and script = \"read_write\", kind = \"tprocc\" and \
                          warehouses = 10, or kind = \"sql\" and [[workload.transactions]]";
            root.object("workload", Objection::new("is missing", remedy));
        }
        return None;
    }
    let remedy = "write kind = \"oltp\", kind = \"tprocc\" or kind = \"sql\"";
    let kind = section.required("kind", remedy, choice(&KINDS, &[]))?;
    let mut contradictions = Vec::new();
    let workload = match kind {
        Kind::Oltp => {
            section.demand("script", "write script = \"read_write\", or another of sysbench's");
            let shape = oltp::shape(&section);
            if root.mistakes() == before {
                contradictions = oltp::contradictions(&shape);
            }
            oltp::report(&section, &contradictions);
            Workload::Oltp(shape)
        }
        Kind::Tprocc => Workload::Tprocc(tprocc::base(&section, target)),
        Kind::Custom => Workload::Custom(custom::base(&section, target)),
    };
    let sound = root.mistakes() == before + contradictions.len();
    section.finish();
    Some(Base { section, target, workload, contradictions, sound })
}

/// Reads a profile's own `workload` over the study's.
pub(super) fn over<'a>(own: Section<'a>, base: &Base<'a>) -> Option<Workload> {
    if !own.exists() {
        return Some(base.workload.clone());
    }
    own.refuse("kind", "a study has one kind of workload", "write kind in [workload] only");
    match &base.workload {
        Workload::Oltp(_) => Some(Workload::Oltp(oltp_over(own, base))),
        Workload::Tprocc(shape) => {
            refuse_build_keys(&own, &tprocc::BUILD_KEYS);
            let shape = tprocc::shape(&own, shape, base.target);
            own.finish();
            Some(Workload::Tprocc(shape))
        }
        Workload::Custom(shape) => {
            let shape = custom::over(&own, shape, base.target);
            own.finish();
            Some(Workload::Custom(shape))
        }
    }
}

fn oltp_over<'a>(own: Section<'a>, base: &Base<'a>) -> crate::oltp::Shape {
    let before = own.mistakes();
    refuse_build_keys(&own, &oltp::BUILD_KEYS);
    let own = own.over(&base.section);
    let shape = oltp::shape(&own);
    if base.sound && own.mistakes() == before {
        let all = oltp::contradictions(&shape);
        let news: Vec<_> = all.into_iter().filter(|it| !base.contradictions.contains(it)).collect();
        oltp::report(&own, &news);
    }
    own.finish();
    shape
}

fn refuse_build_keys(own: &Section<'_>, keys: &[&'static str]) {
    for key in keys {
        let what = "the whole study runs on one schema, so a profile cannot change how it is built";
        own.refuse(key, what, "write it in [workload] only");
    }
}
