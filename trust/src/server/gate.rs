//! How many connections there may be, in all and of one address, so that no peer takes the descriptors of all others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many connections there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// At once.
    pub all: usize,
    /// At once of one address: embedded fleets and Kubernetes nodes have hundreds of agents behind one.
    pub per_address: usize,
    /// At once that have not shown who they are yet.
    pub unknown: usize,
    /// The same of one address.
    pub unknown_per_address: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { all: 4_096, per_address: 1_024, unknown: 1_024, unknown_per_address: 256 }
    }
}

impl Limits {
    /// The same, within what a process may have open; a share is left for everything else.
    pub fn within(self, open_files: u64) -> Limits {
        let most = usize::try_from(open_files / 4 * 3).unwrap_or(usize::MAX).max(16);
        Limits {
            all: self.all.min(most),
            per_address: self.per_address.min(most),
            unknown: self.unknown.min(most / 2),
            unknown_per_address: self.unknown_per_address.min(most / 2),
        }
    }
}

/// Counts who is inside.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    limits: Limits,
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug, Default)]
struct Inside {
    all: Count,
    of: HashMap<IpAddr, Count>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    connections: usize,
    unknown: usize,
}

impl Gate {
    pub(super) fn new(limits: Limits) -> Gate {
        Gate { limits, inside: Arc::default() }
    }

    /// A place for one more connection.
    ///
    /// # Errors
    /// Which limit there is none within.
    pub(super) fn enter(&self, address: IpAddr) -> Result<Place, String> {
        let address = network(address);
        let mut inside = self.lock();
        let of = inside.of.get(&address).copied().unwrap_or_default();
        let limits = &self.limits;
        for (here, most, what) in [
            (inside.all.connections, limits.all, "connections"),
            (of.connections, limits.per_address, "connections of its address"),
            (inside.all.unknown, limits.unknown, "handshakes"),
            (of.unknown, limits.unknown_per_address, "handshakes of its address"),
        ] {
            if here >= most {
                return Err(format!("is one too many: {most} {what} are under way, which is the limit"));
            }
        }
        for count in inside.counts(address) {
            count.connections += 1;
            count.unknown += 1;
        }
        drop(inside);
        Ok(Place { gate: self.clone(), address, unknown: true })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn counts(&mut self, address: IpAddr) -> [&mut Count; 2] {
        [&mut self.all, self.of.entry(address).or_default()]
    }
}

/// One connection's place, free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    gate: Gate,
    address: IpAddr,
    unknown: bool,
}

impl Place {
    /// Its peer has shown who it is.
    pub(super) fn served(mut self) -> Place {
        for count in self.gate.lock().counts(self.address) {
            count.unknown -= 1;
        }
        self.unknown = false;
        self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.gate.lock();
        for count in inside.counts(self.address) {
            count.connections -= 1;
            count.unknown -= usize::from(self.unknown);
        }
        if inside.of.get(&self.address).is_some_and(|count| count.connections == 0) {
            inside.of.remove(&self.address);
        }
    }
}

/// One host has a whole /64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { all: 4, per_address: 3, unknown: 3, unknown_per_address: 2 };

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn each_limit_holds_and_a_place_is_free_again() {
        let gate = Gate::new(LIMITS);
        let (a, b) = (address("10.0.0.1"), address("10.0.0.2"));
        let first = gate.enter(a).unwrap();
        let second = gate.enter(a).unwrap();
        assert!(gate.enter(a).unwrap_err().contains("2 handshakes of its address"));
        let third = gate.enter(b).unwrap();
        assert!(gate.enter(b).unwrap_err().contains("3 handshakes are"));
        let (first, second) = (first.served(), second.served());
        let fourth = gate.enter(a).unwrap().served();
        assert!(gate.enter(b).unwrap_err().contains("4 connections are"));
        drop(third);
        assert!(gate.enter(a).unwrap_err().contains("3 connections of its address"));
        drop((first, second, fourth));
        assert!(gate.lock().of.is_empty() && gate.lock().all.connections == 0 && gate.lock().all.unknown == 0);
    }

    #[test]
    fn a_host_is_one_address() {
        assert_eq!(network(address("2001:db8::1")), network(address("2001:db8::ffff:2")));
        assert_ne!(network(address("2001:db8::1")), network(address("2001:db8:0:1::1")));
        assert_eq!(network(address("::ffff:10.0.0.1")), address("10.0.0.1"));
    }

    #[test]
    fn few_descriptors_are_shared() {
        assert_eq!(Limits::default().within(1 << 20), Limits::default());
        let few = Limits::default().within(1_024);
        assert_eq!((few.all, few.unknown), (768, 384));
    }
}
