//! A throw-away authority with one certificate for the server and one for a client.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Writes `ca.pem`, `server.pem`, `server.key`, `client.pem` and `client.key`. The server's is good for localhost and
/// 127.0.0.1.
pub fn create_certificates(directory: &Path) -> Result<()> {
    openssl(
        directory,
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=vufleet-testbed-ca \
         -keyout ca.key -out ca.pem",
    )?;
    // rustls accepts version 3 certificates only, which is what extensions make of them.
    std::fs::write(directory.join("server.ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n")?;
    std::fs::write(directory.join("client.ext"), "extendedKeyUsage=clientAuth\n")?;
    for name in ["server", "client"] {
        openssl(
            directory,
            &format!(
                "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=vufleet-testbed-{name} \
                 -keyout {name}.key -out {name}.csr"
            ),
        )?;
        openssl(
            directory,
            &format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile {name}.ext \
                 -out {name}.pem"
            ),
        )?;
    }
    Ok(())
}

fn openssl(directory: &Path, arguments: &str) -> Result<()> {
    let output = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(directory)
        .output()
        .context("openssl is not installed; apt-get install openssl")?;
    ensure!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
