//! Somebody who outlives a test process that was killed, and cleans up after it.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// A shell that waits for its standard input to close, which happens when this process ends however it ends, and then
/// kills a server and removes its directory.
pub(crate) struct Guardian(Child);

impl Guardian {
    /// Watches over the server of that process id.
    pub fn watch(server: u32, directory: &Path) -> Result<Guardian> {
        use std::os::unix::process::CommandExt;
        Command::new("sh")
            .args(["-c", "read _; kill -9 \"$1\" 2>/dev/null; rm -rf \"$2\"", "guardian", &server.to_string()])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of reach of the terminal's Ctrl-C.
            .process_group(0)
            .spawn()
            .map(Guardian)
            .context("cannot start sh to watch over the test server")
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Killed before its input closes: there is nothing left to clean up. It may have ended by itself.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
