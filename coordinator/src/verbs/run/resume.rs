//! `vufleet run --resume`: the text in the ledger is what goes on. A study file that is named beside it has to say the same.

use std::path::Path;

use anyhow::bail;
use vufleet_scenarios::study::{self, Edits, Study};

use crate::args::EditArgs;
use crate::difference::difference;
use crate::dispatch::Fleet;
use crate::ledger::Ledger;
use crate::operator::Operator;
use crate::study_file::{self, Checked};

/// A study of a ledger.
#[derive(Debug)]
pub(super) struct Begun {
    id: String,
    study: Study,
}

impl Begun {
    /// Looks a study up where the fleet's ledger is.
    pub(super) async fn find(fleet: &Fleet, wanted: &str) -> anyhow::Result<Begun> {
        let (id, text) = match fleet {
            Fleet::Embedded { data, .. } => {
                let record = Ledger::read_only(data)?.study(wanted)?;
                (record.id.0, record.text)
            }
            Fleet::At { url, security, .. } => Operator::dial(url, security).await?.study(wanted).await?,
        };
        Begun::read(id, &text)
    }

    fn read(id: String, text: &str) -> anyhow::Result<Begun> {
        match study::read(text, &Edits::default()) {
            Ok(study) => Ok(Begun { id, study }),
            Err(refusal) => bail!(
                "study {id} was begun with another version of vufleet, and this one ({}) does not read it: {refusal}; go \
                 on with the version that began it",
                env!("CARGO_PKG_VERSION")
            ),
        }
    }

    /// # Errors
    /// With the difference, unless the file says what the ledger says.
    pub(super) fn refuse_another(&self, path: &Path, edits: &EditArgs) -> anyhow::Result<()> {
        let named = study_file::read_file(path, edits, self.study.seed)?;
        let Some(difference) = difference(&self.study.text, &named.study.text) else { return Ok(()) };
        bail!(
            "{} is not the study that {} was begun with; leave it out to go on with that one, repeat the --set and \
             --scale-time of then, or run it as a new study without --resume. - is what the ledger has, + what the file \
             has:\n{difference}",
            path.display(),
            self.id
        )
    }

    /// The study, and its id.
    pub(super) fn into_checked(self) -> (Checked, String) {
        (Checked { study: self.study, seed_drawn: false }, self.id)
    }
}
