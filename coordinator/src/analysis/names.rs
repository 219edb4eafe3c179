//! Names that are met again and again, kept once.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Every name that was met.
#[derive(Debug, Default)]
pub struct Names(BTreeSet<Arc<str>>);

impl Names {
    /// The one copy of a name.
    pub fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        self.0.insert(Arc::clone(&new));
        new
    }
}
