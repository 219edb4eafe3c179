//! Passwords: read where the verb is typed, carried as secrets, put on the wire at the last moment.
//!
//! No log, ledger, export or argument list ever sees one; what prints here names variables and files only.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::bail;
use secrecy::{ExposeSecret, SecretString};
use vufleet_proto::v1;
use vufleet_scenarios::study::{PasswordSource, Study};

/// The passwords of a study.
#[derive(Debug, Default)]
pub struct Passwords {
    target: Option<SecretString>,
    control: Option<SecretString>,
}

impl Passwords {
    /// Reads every password that the study names from this process's environment and files.
    pub fn resolve(study: &Study) -> anyhow::Result<Passwords> {
        let target = study.target.password_source.as_ref();
        let control = study.control.as_ref().and_then(|control| control.password_source.as_ref());
        Passwords::from_sources(target, control, |name| std::env::var(name).ok())
    }

    fn from_sources(
        target: Option<&PasswordSource>,
        control: Option<&PasswordSource>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Passwords> {
        let mut problems = Vec::new();
        let mut read = |key: &str, source: Option<&PasswordSource>| {
            source.and_then(|source| read_one(key, source, &variable).map_err(|problem| problems.push(problem)).ok())
        };
        let passwords =
            Passwords { target: read("target.password", target), control: read("control.password", control) };
        if !problems.is_empty() {
            bail!("{}", problems.join("\n"));
        }
        Ok(passwords)
    }

    /// The form in which they travel to the coordinator. Never print it.
    pub fn on_the_wire(&self) -> v1::Secrets {
        let expose = |secret: &Option<SecretString>| secret.as_ref().map(|secret| secret.expose_secret().to_owned());
        v1::Secrets { password: expose(&self.target), control_password: expose(&self.control) }
    }
}

fn read_one(
    key: &str,
    source: &PasswordSource,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<SecretString, String> {
    match source {
        PasswordSource::Env(name) => variable(name).map(SecretString::from).ok_or_else(|| {
            format!("{key}: environment variable {name} is not set; set it with: read -rs {name} && export {name}")
        }),
        PasswordSource::File(path) => match std::fs::read_to_string(path) {
            Ok(text) => {
                let text = SecretString::from(text);
                let password = SecretString::from(without_line_break(text.expose_secret()));
                look_at(key, path, &password)?;
                Ok(password)
            }
            Err(error) => Err(format!(
                "{key}: cannot read file {}: {error}; write the password into it and make it readable for you alone",
                path.display()
            )),
        },
    }
}

/// What is odd about a file of a password: others that can read it, and what no password is.
fn look_at(key: &str, path: &Path, password: &SecretString) -> Result<(), String> {
    let shown = path.display();
    if password.expose_secret().contains('\0') {
        return Err(format!("{key}: file {shown} holds a NUL byte; write the password alone into it, as text"));
    }
    if password.expose_secret().is_empty() {
        tracing::warn!("{key}: file {shown} is empty: the login is tried without a password");
    }
    let mode = std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode() & 0o7777);
    if mode & 0o077 != 0 {
        tracing::warn!("{key}: file {shown} can be read by others (mode {mode:04o}); chmod 600 {shown}");
    }
    Ok(())
}

fn without_line_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<PasswordSource> {
        Some(PasswordSource::Env(name.to_owned()))
    }

    fn variable(name: &str) -> Option<String> {
        (name == "SET").then(|| "s3cret".to_owned())
    }

    #[test]
    fn variables_and_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        for (content, password) in [("p w\n", "p w"), ("p\r\n", "p"), ("p\n\n", "p\n"), ("", ""), (" p ", " p ")] {
            let path = dir.path().join("password");
            std::fs::write(&path, content).unwrap();
            let file = Some(PasswordSource::File(path));
            let passwords = Passwords::from_sources(env("SET").as_ref(), file.as_ref(), variable).unwrap();
            let wire = passwords.on_the_wire();
            assert_eq!(wire.password.as_deref(), Some("s3cret"));
            assert_eq!(wire.control_password.as_deref(), Some(password));
        }
    }

    #[test]
    fn a_file_that_is_no_text_holds_no_password() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        std::fs::write(&path, "p\0q").unwrap();
        let error = Passwords::from_sources(Some(&PasswordSource::File(path)), None, variable).unwrap_err().to_string();
        assert!(error.contains("NUL") && !error.contains("p\0q"), "{error}");
    }

    #[test]
    fn a_study_without_passwords_has_none() {
        let wire = Passwords::from_sources(None, None, variable).unwrap().on_the_wire();
        assert_eq!((&wire.password, &wire.control_password), (&None, &None));
    }

    #[test]
    fn every_missing_password_is_named_with_its_remedy() {
        let file = Some(PasswordSource::File("/nowhere/password".into()));
        let error = Passwords::from_sources(env("UNSET").as_ref(), file.as_ref(), variable).unwrap_err().to_string();
        for part in ["target.password", "UNSET", "export UNSET", "control.password", "/nowhere/password"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn passwords_do_not_print() {
        let passwords = Passwords::from_sources(env("SET").as_ref(), None, variable).unwrap();
        assert!(!format!("{passwords:?}").contains("s3cret"));
    }
}
