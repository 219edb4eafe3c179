//! What the control groups of this process leave it: a container's limits, or those of a systemd unit.
//!
//! A group is bound by all above it too, so that the least of them holds. In a container the own group is the root of what
//! is seen, and what stands above it remains unknown.

use std::fs;
use std::path::{Path, PathBuf};

/// The bounds; none where no group sets one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Group {
    /// CPU time a second of time, 1000 a core.
    pub quota_millicores: Option<u64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// Threads and processes that may still be started.
    pub tasks: Option<u64>,
}

/// Of version 1, which says the largest multiple of a page for no limit.
const UNLIMITED_BYTES: u64 = 1 << 62;

impl Group {
    /// The groups of this process on the host whose file system is at `root`.
    pub fn read(root: &Path) -> Group {
        let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let least = |controller: &str, bound: fn(&Path) -> Option<u64>| {
            directories(root, &groups, controller).iter().filter_map(|directory| bound(directory)).min()
        };
        Group {
            quota_millicores: least("cpu", quota),
            memory_bytes: least("memory", memory),
            tasks: least("pids", tasks),
        }
    }
}

/// The groups of a controller that bind this process, of version 2 and of version 1.
fn directories(root: &Path, groups: &str, controller: &str) -> Vec<PathBuf> {
    let mounts = root.join("sys/fs/cgroup");
    let mut directories = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mount = match controllers {
            "" => mounts.clone(),
            of_1 if of_1.split(',').any(|one| one == controller) => mounts.join(controller),
            _ => continue,
        };
        let own = Path::new(path.trim_start_matches('/'));
        directories.extend(own.ancestors().map(|group| mount.join(group)));
    }
    directories
}

fn quota(group: &Path) -> Option<u64> {
    let (quota, period) = match fs::read_to_string(group.join("cpu.max")) {
        Ok(both) => {
            let (quota, period) = both.trim().split_once(' ')?;
            (quota.parse().ok()?, period.parse().ok()?)
        }
        Err(_) => (number(group, "cpu.cfs_quota_us")?, number(group, "cpu.cfs_period_us")?),
    };
    (quota * 1000_u64).checked_div(period)
}

fn memory(group: &Path) -> Option<u64> {
    let bytes = number(group, "memory.max").or_else(|| number(group, "memory.limit_in_bytes"))?;
    (bytes < UNLIMITED_BYTES).then_some(bytes)
}

fn tasks(group: &Path) -> Option<u64> {
    Some(number(group, "pids.max")?.saturating_sub(number(group, "pids.current").unwrap_or(0)))
}

/// None of "max" and "-1", which stand for no limit.
fn number(group: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(groups: &str, files: &[(&str, &str)]) -> Group {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [("proc/self/cgroup", groups)].iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Group::read(root.path())
    }

    #[test]
    fn the_least_of_a_group_and_those_above_it_holds() {
        let own = "sys/fs/cgroup/lab.slice/agent.service";
        let files = [
            (&*format!("{own}/cpu.max"), "250000 100000\n"),
            (&*format!("{own}/memory.max"), "max\n"),
            (&*format!("{own}/pids.max"), "4915\n"),
            (&*format!("{own}/pids.current"), "15\n"),
            ("sys/fs/cgroup/lab.slice/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/lab.slice/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/lab.slice/pids.max", "max\n"),
            ("sys/fs/cgroup/other.slice/memory.max", "4096\n"),
        ];
        let group = host("0::/lab.slice/agent.service\n", &files);
        let wanted = Group { quota_millicores: Some(2500), memory_bytes: Some(1 << 30), tasks: Some(4900) };
        assert_eq!(group, wanted);
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let files = [("sys/fs/cgroup/cpu.max", "50000 100000\n"), ("sys/fs/cgroup/pids.max", "100\n")];
        for groups in ["0::/\n", "0::/../other\n", "0::/system.slice/docker-1f.scope\n"] {
            let group = host(groups, &files);
            assert_eq!(
                (group.quota_millicores, group.tasks, group.memory_bytes),
                (Some(500), Some(100), None),
                "{groups}"
            );
        }
    }

    #[test]
    fn version_1_has_a_tree_for_each_controller() {
        let groups = "9:pids:/a\n4:memory:/a/b\n2:cpu,cpuacct:/a\n1:name=systemd:/x\n0::/x\n";
        let files = [
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n"),
            ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "65536\n"),
            ("sys/fs/cgroup/pids/a/pids.max", "7\n"),
            ("sys/fs/cgroup/pids/a/pids.current", "9\n"),
        ];
        let wanted = Group { quota_millicores: Some(3000), memory_bytes: Some(65_536), tasks: Some(0) };
        assert_eq!(host(groups, &files), wanted);
    }

    #[test]
    fn what_is_not_told_is_no_limit() {
        assert_eq!(host("0::/\n", &[]), Group::default());
        assert_eq!(host("nonsense\n1:cpu\n", &[("sys/fs/cgroup/cpu.max", "often")]), Group::default());
    }
}
