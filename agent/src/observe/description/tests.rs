use std::fs;
use std::path::Path;

use super::describe;

/// A host as files.
fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn a_host_tells_what_its_files_say() {
    let root = host(&[
        ("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
        ("proc/cpuinfo", "processor : 0\nmodel name\t: Xeon(R) @ 2.9GHz\nflags : fpu hypervisor\n\nprocessor : 1\n"),
        ("proc/meminfo", "MemTotal:       24630340 kB\nMemFree: 1 kB\nSwapTotal:             0 kB\n"),
        ("proc/self/status", "Name:\tagent\nCpus_allowed_list:\t0-1\n"),
        ("proc/self/cgroup", "0::/system.slice/agent\n"),
        ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("sys/block/loop0/size", "8\n"),
        ("sys/block/loop0/queue/scheduler", "none\n"),
        ("sys/block/sda/size", "1000\n"),
        ("sys/block/sda/device/model", "disk\n"),
        ("sys/block/sda/queue/scheduler", "none [mq-deadline]\n"),
        ("sys/class/net/eth0/device/vendor", "0x1\n"),
        ("sys/class/net/eth0/mtu", "1500\n"),
        ("sys/class/net/eth0/speed", "-1\n"),
        ("sys/class/net/lo/mtu", "65536\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
        ("sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n"),
        ("sys/devices/system/node/node0/cpulist", "0-1\n"),
        ("sys/devices/system/node/possible", "0\n"),
        ("sys/fs/cgroup/system.slice/agent/cpu.max", "200000 100000\n"),
        ("sys/fs/cgroup/memory.max", "max\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ]);
    let told = describe(root.path());
    let expected = [
        ("container cpu limit", "200000 100000"),
        ("container memory limit", "none"),
        ("cpu", "Xeon(R) @ 2.9GHz"),
        ("cpu governor", "performance, powersave"),
        ("cpu turbo", "off"),
        ("cpus of the agent", "0-1"),
        ("disk sda scheduler", "mq-deadline"),
        ("kernel", "6.1.0-18-amd64"),
        ("memory", "24630340 kB"),
        ("mitigation meltdown", "Mitigation: PTI"),
        ("net.ipv4.ip_local_port_range", "32768 60999"),
        ("network eth0 mtu", "1500"),
        ("numa nodes", "1"),
        ("os", "Debian GNU/Linux 12 (bookworm)"),
        ("swap", "0 kB"),
        ("transparent hugepages", "madvise"),
        ("virtual machine", "yes"),
        ("vm.swappiness", "60"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(told, expected.into());
}

#[test]
fn what_is_not_told_is_left_out() {
    assert_eq!(describe(Path::new("/nowhere")), [].into());
    let boost = host(&[("sys/devices/system/cpu/cpufreq/boost", "1\n")]);
    assert_eq!(describe(boost.path()), [("cpu turbo".to_owned(), "on".to_owned())].into());
}

/// Read twice on the machine that runs this, nothing has moved: a difference in a study is somebody's doing.
#[test]
fn nothing_in_it_moves_by_itself() {
    let once = describe(Path::new("/"));
    assert!(once.contains_key("kernel") && once.contains_key("memory"), "{once:?}");
    assert_eq!(describe(Path::new("/")), once);
}
