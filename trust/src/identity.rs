//! What a certificate says of its holder, as a URI among its alternative names: `spiffe://vufleet/ROLE/NAME`.
//!
//! The form is that of SPIFFE (<https://spiffe.io/docs/latest/spiffe-specs/spiffe-id/>), so that other issuers can make such
//! certificates too. Names that clients verify a server by (DNS, IP) stand beside it.

use std::fmt;
use std::str::FromStr;

/// What the holder of a certificate is in the fleet. Nobody is two things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Serves agents and operators.
    Coordinator,
    /// Joins a coordinator, and does nothing else there.
    Agent,
    /// Submits and stops jobs, and reads what the coordinator knows.
    Operator,
    /// Reads metrics and health, and nothing else.
    Monitor,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 4] = [Role::Coordinator, Role::Agent, Role::Operator, Role::Monitor];

    /// Its name in certificates and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::Coordinator => "coordinator",
            Role::Agent => "agent",
            Role::Operator => "operator",
            Role::Monitor => "monitor",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = NoIdentity;

    fn from_str(name: &str) -> Result<Role, NoIdentity> {
        Role::ALL.into_iter().find(|role| role.name() == name).ok_or_else(|| NoIdentity(name.to_owned()))
    }
}

/// A role and a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// What the holder is.
    pub role: Role,
    /// Which one. An agent's may be [`Identity::ANY`].
    pub name: String,
}

/// A text that names no identity of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no identity of a fleet; vufleet's are spiffe://vufleet/ROLE/NAME, ROLE being coordinator, agent, operator or monitor"
)]
pub struct NoIdentity(pub String);

const PREFIX: &str = "spiffe://vufleet/";

impl Identity {
    /// The name of a certificate that many agents share: they may join under any name.
    pub const ANY: &str = "_any";

    /// An identity of a name that certificates can hold.
    ///
    /// # Errors
    /// Names have 1 to 100 letters, digits, dots, hyphens and underscores, which is what a SPIFFE path segment allows.
    pub fn new(role: Role, name: &str) -> Result<Identity, NoIdentity> {
        let fits = (1..=100).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
            && name != "."
            && name != "..";
        if fits { Ok(Identity { role, name: name.to_owned() }) } else { Err(NoIdentity(name.to_owned())) }
    }

    /// As it stands in a certificate.
    pub fn uri(&self) -> String {
        format!("{PREFIX}{}/{}", self.role, self.name)
    }

    /// Whether an agent that holds this may join under a name.
    pub fn may_join_as(&self, name: &str) -> bool {
        self.role == Role::Agent && (self.name == Identity::ANY || self.name == name)
    }
}

impl FromStr for Identity {
    type Err = NoIdentity;

    fn from_str(uri: &str) -> Result<Identity, NoIdentity> {
        let refused = || NoIdentity(uri.to_owned());
        let (role, name) = uri.strip_prefix(PREFIX).and_then(|path| path.split_once('/')).ok_or_else(refused)?;
        Identity::new(role.parse().map_err(|_| refused())?, name).map_err(|_| refused())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.role, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_survive_their_uri() {
        for role in Role::ALL {
            let identity = Identity::new(role, "load-1.lab_b").unwrap();
            assert_eq!(identity.uri().parse(), Ok(identity));
        }
    }

    #[test]
    fn what_is_no_identity_is_none() {
        for text in [
            "",
            "spiffe://vufleet/agent/",
            "spiffe://vufleet/agent",
            "spiffe://vufleet/agent/a/b",
            "spiffe://vufleet/root/a",
            "spiffe://other/agent/a",
            "spiffe://vufleet/agent/..",
            "spiffe://vufleet/agent/a b",
            "https://vufleet/agent/a",
        ] {
            assert_eq!(text.parse::<Identity>(), Err(NoIdentity(text.to_owned())));
        }
    }

    #[test]
    fn an_agent_joins_under_its_own_name() {
        let named = Identity::new(Role::Agent, "load-1").unwrap();
        assert!(named.may_join_as("load-1") && !named.may_join_as("load-2"));
        assert!(Identity::new(Role::Agent, Identity::ANY).unwrap().may_join_as("load-2"));
        assert!(!Identity::new(Role::Operator, "load-1").unwrap().may_join_as("load-1"));
    }
}
