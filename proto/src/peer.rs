//! What each side of a call says of itself in its metadata, and what it means when the two differ.

use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

use crate::{PROTOCOL, PROTOCOL_KEY, VERSION_KEY};

/// What somebody said of itself. Those older than protocol 4 say nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// Its protocol.
    pub protocol: Option<u32>,
    /// Its version, for people.
    pub version: Option<String>,
}

impl Said {
    /// As it stands in metadata.
    pub fn in_metadata(metadata: &MetadataMap) -> Said {
        let text = |key| metadata.get(key).and_then(|value: &MetadataValue<Ascii>| value.to_str().ok());
        let version = text(VERSION_KEY).map(|version| version.chars().take(40).filter(|c| !c.is_control()).collect());
        Said { protocol: text(PROTOCOL_KEY).and_then(|protocol| protocol.parse().ok()), version }
    }

    /// Why the two cannot speak with each other, and who is to be upgraded; none where they can. `their` and `own` are what
    /// the two are.
    pub fn mismatch(&self, their: &str, own: &str, own_version: &str) -> Option<String> {
        if self.protocol == Some(PROTOCOL) {
            return None;
        }
        let version = self.version.as_deref().unwrap_or("of an unknown version");
        let (speaks, older) = match self.protocol {
            Some(protocol) => (format!("protocol {protocol}"), if protocol < PROTOCOL { their } else { own }),
            None => (format!("a protocol older than {PROTOCOL}"), their),
        };
        Some(format!("{their} {version} speaks {speaks}, {own} {own_version} speaks {PROTOCOL}: upgrade the {older}"))
    }

    /// What is to be told of versions that differ where the protocol is the same.
    pub fn difference(&self, their: &str, own: &str, own_version: &str) -> Option<String> {
        let version = self.version.as_deref().filter(|version| *version != own_version)?;
        Some(format!(
            "{their} is of version {version}, {own} of {own_version}; they understand each other, but measure with one version"
        ))
    }
}

/// Says of ourselves what [`Said`] reads.
pub fn introduce(metadata: &mut MetadataMap, version: &str) {
    metadata.insert(PROTOCOL_KEY, MetadataValue::from(PROTOCOL));
    if let Ok(version) = MetadataValue::try_from(version) {
        metadata.insert(VERSION_KEY, version);
    }
}

/// A request that introduces its sender.
pub fn introduced<T>(message: T, version: &str) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    introduce(request.metadata_mut(), version);
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(protocol: Option<u32>, version: &str) -> Said {
        Said { protocol, version: Some(version.to_owned()) }
    }

    #[test]
    fn what_is_said_is_read() {
        let request = introduced((), "0.1.0");
        assert_eq!(Said::in_metadata(request.metadata()), said(Some(PROTOCOL), "0.1.0"));
        assert_eq!(Said::in_metadata(&MetadataMap::new()), Said::default());
    }

    #[test]
    fn the_older_side_is_to_be_upgraded() {
        let refused = |theirs: Said| theirs.mismatch("agent a", "coordinator", "0.1.0");
        assert_eq!(refused(said(Some(PROTOCOL), "9.9")), None);
        let older = refused(said(Some(PROTOCOL - 1), "0.0.9")).unwrap();
        assert_eq!(older, "agent a 0.0.9 speaks protocol 3, coordinator 0.1.0 speaks 4: upgrade the agent a");
        assert!(refused(said(Some(PROTOCOL + 1), "9.9")).unwrap().ends_with("upgrade the coordinator"));
        assert!(
            refused(Said::default()).unwrap().contains("agent a of an unknown version speaks a protocol older than 4")
        );
    }

    #[test]
    fn other_versions_of_one_protocol_are_told() {
        assert_eq!(said(Some(PROTOCOL), "0.1.0").difference("a", "b", "0.1.0"), None);
        assert_eq!(Said::default().difference("a", "b", "0.1.0"), None);
        let told = said(Some(PROTOCOL), "0.2.0").difference("agent a", "the coordinator", "0.1.0").unwrap();
        assert!(told.contains("agent a is of version 0.2.0, the coordinator of 0.1.0"), "{told}");
    }
}
