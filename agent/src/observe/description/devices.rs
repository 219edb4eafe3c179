//! Disks and network interfaces that are hardware, or pass for it in a virtual machine.

use std::collections::BTreeMap;
use std::path::Path;

use super::{chosen, line, names};

/// Of a disk: name and file of its queue.
const QUEUE: [(&str, &str); 4] = [
    ("scheduler", "scheduler"),
    ("rotational", "rotational"),
    ("read ahead KB", "read_ahead_kb"),
    ("write cache", "write_cache"),
];

pub(super) fn settings(root: &Path) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for disk in names(root, "sys/block").iter().filter(|disk| is_disk(root, disk)) {
        for (what, file) in QUEUE {
            if let Some(value) = chosen(root, &format!("sys/block/{disk}/queue/{file}")) {
                settings.insert(format!("disk {disk} {what}"), value);
            }
        }
    }
    let real = |nic: &&String| root.join(format!("sys/class/net/{nic}/device")).exists();
    for nic in names(root, "sys/class/net").iter().filter(real) {
        // An interface that is down, or virtual, does not tell its speed, or tells -1.
        let speed = line(root, &format!("sys/class/net/{nic}/speed")).filter(|speed| speed != "-1");
        let told = [("speed Mb/s", speed), ("mtu", line(root, &format!("sys/class/net/{nic}/mtu")))];
        for (what, value) in told {
            settings.extend(value.map(|value| (format!("network {nic} {what}"), value)));
        }
    }
    settings
}

/// A device with hardware behind it and a medium in it.
fn is_disk(root: &Path, disk: &str) -> bool {
    let has_medium = line(root, &format!("sys/block/{disk}/size")).is_some_and(|size| size != "0");
    has_medium && root.join(format!("sys/block/{disk}/device")).exists()
}
