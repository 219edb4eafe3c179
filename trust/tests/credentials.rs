//! Directories of certificates as people leave them: what is wrong is told in full, with what to do about it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use vufleet_trust::authority::{Authority, Order, Pair};
use vufleet_trust::credentials::Credentials;
use vufleet_trust::files::Existing;
use vufleet_trust::identity::{Identity, Role};
use vufleet_trust::validity::{DAY, Validity};

fn authority() -> Authority {
    Authority::create("test lab", Validity::days(3_650)).unwrap()
}

fn agent(authority: &Authority, validity: Validity) -> Pair {
    let identity = Identity::new(Role::Agent, "load-1").unwrap();
    authority.issue(&Order { identity, hosts: Vec::new(), validity }).unwrap()
}

fn days_ago(from: u32, until: u32) -> Validity {
    let now = SystemTime::now();
    Validity { from: now - DAY * from, until: now - DAY * until }
}

struct Place(TempDir);

impl Place {
    /// A directory that is in order.
    fn new() -> Place {
        let place = Place(TempDir::new().unwrap());
        let authority = authority();
        agent(&authority, Validity::days(365)).save(&place.dir(), &authority, Existing::Keep).unwrap();
        place
    }

    fn of(pair: &Pair, authority: &Authority) -> Place {
        let place = Place(TempDir::new().unwrap());
        pair.save(&place.dir(), authority, Existing::Keep).unwrap();
        place
    }

    fn dir(&self) -> PathBuf {
        self.0.path().join("agent")
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.dir().join(name), content).unwrap();
    }

    fn problems(&self, role: Role) -> String {
        Credentials::load(&self.dir(), role).expect_err("something is wrong").to_string()
    }
}

#[test]
fn what_is_in_order_says_who_it_is() {
    let credentials = Credentials::load(&Place::new().dir(), Role::Agent).unwrap();
    assert_eq!(credentials.identity, Identity::new(Role::Agent, "load-1").unwrap());
    assert_eq!(credentials.warnings(SystemTime::now()), [] as [&str; 0]);
}

#[test]
fn each_mistake_is_named_with_its_remedy() {
    let ours = authority();
    let other = authority();
    let fresh = agent(&ours, Validity::days(365));
    let broken = |name: &str, content: &str| {
        let place = Place::of(&fresh, &ours);
        place.write(name, content);
        place
    };
    let missing = |name: &str| {
        let place = Place::of(&fresh, &ours);
        fs::remove_file(place.dir().join(name)).unwrap();
        place
    };
    let tomorrow = Validity { from: SystemTime::now() + DAY, until: SystemTime::now() + DAY * 9 };
    for (place, words) in [
        (missing("ca.crt"), "ca.crt is missing"),
        (missing("tls.crt"), "tls.crt is missing"),
        (missing("tls.key"), "tls.key is missing"),
        (broken("ca.crt", ""), "ca.crt holds no certificate"),
        (broken("tls.crt", "hello"), "tls.crt holds no certificate"),
        (broken("tls.key", fresh.certificate_pem()), "tls.key holds no private key"),
        (broken("tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "tls.crt is damaged"),
        (broken("tls.key", agent(&ours, Validity::days(1)).key_pem()), "key of another certificate"),
        (broken("ca.crt", other.certificates_pem()), "not issued by the authority"),
        (broken("ca.crt", fresh.certificate_pem()), "is no authority's"),
        (Place::of(&agent(&ours, days_ago(9, 2)), &ours), "tls.crt has expired on "),
        (Place::of(&agent(&ours, tomorrow), &ours), "compare this host's clock"),
    ] {
        let told = place.problems(Role::Agent);
        assert!(told.contains(words) && told.contains(&place.dir().display().to_string()), "{words}: {told}");
    }
    let wrong_role = Place::new().problems(Role::Operator);
    assert!(wrong_role.contains("is that of agent load-1") && wrong_role.contains("issue operator"), "{wrong_role}");
    let nowhere = Credentials::load(Path::new("/nowhere/certs"), Role::Agent).unwrap_err().to_string();
    assert!(nowhere.contains("no such directory") && nowhere.contains("--certs"), "{nowhere}");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let (ours, other) = (authority(), authority());
    let place = Place::of(&agent(&ours, days_ago(9, 2)), &other);
    place.write("tls.key", agent(&ours, Validity::days(1)).key_pem());
    let told = place.problems(Role::Coordinator);
    for words in ["expired", "not issued by", "is that of agent load-1", "key of another"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn an_expired_authority_is_not_trusted() {
    let now = SystemTime::now();
    let old = Authority::create("old", Validity { from: now - DAY * 9, until: now - DAY }).unwrap();
    let ours = authority();
    let place = Place::of(&agent(&ours, Validity::days(365)), &ours);
    place.write("ca.crt", old.certificates_pem());
    let told = place.problems(Role::Agent);
    assert!(told.contains("has expired"), "{told}");
    // During a rotation it stands beside the new one.
    place.write("ca.crt", &format!("{}{}", old.certificates_pem(), ours.certificates_pem()));
    let warnings = Credentials::load(&place.dir(), Role::Agent).unwrap().warnings(now);
    assert!(warnings.len() == 1 && warnings[0].contains("not trusted"), "{warnings:?}");
}

#[test]
fn what_others_can_read_is_warned_of() {
    let place = Place::new();
    fs::set_permissions(place.dir().join("tls.key"), fs::Permissions::from_mode(0o640)).unwrap();
    place.write("ca.key", "whatever");
    let warnings = Credentials::load(&place.dir(), Role::Agent).unwrap().warnings(SystemTime::now());
    assert!(warnings.iter().any(|warning| warning.contains("0640") && warning.contains("chmod 600")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("ca.key")), "{warnings:?}");
}

#[test]
fn the_end_is_warned_of_in_time() {
    let ours = authority();
    let (day, hour) = (DAY, Duration::from_secs(3_600));
    for (days, left, warned) in
        [(365, day * 31, false), (365, day * 29, true), (3, day + hour, false), (3, day - hour, true)]
    {
        let pair = agent(&ours, Validity::days(days));
        let until = pair.validity.until;
        let place = Place::of(&pair, &ours);
        let warnings = Credentials::load(&place.dir(), Role::Agent).unwrap().warnings(until - left);
        assert_eq!(warnings.len(), usize::from(warned), "{days} days, {left:?} left: {warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains("vufleet certs issue agent load-1")), "{warnings:?}");
    }
}
