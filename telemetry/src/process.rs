//! What this process takes of its host, under the names that Prometheus' own clients use.

use std::fmt;

use procfs::process::Process;

use crate::sheet::Sheet;

/// Tells of CPU, memory, open files and threads. What the kernel does not tell is left out.
pub fn tell(sheet: &mut Sheet<'_>) -> fmt::Result {
    let Ok(process) = Process::myself() else { return Ok(()) };
    if let Ok(stat) = process.stat() {
        let ticks = procfs::ticks_per_second() as f64;
        let cpu = (stat.utime + stat.stime) as f64 / ticks;
        sheet.counter("process_cpu_seconds", "User and system time of this process", cpu)?;
        let resident = stat.rss as f64 * procfs::page_size() as f64;
        sheet.gauge("process_resident_memory_bytes", "Memory of this process that is in use", resident)?;
        sheet.gauge("process_virtual_memory_bytes", "Address space of this process", stat.vsize as f64)?;
        sheet.gauge("process_threads", "Threads of this process", stat.num_threads as f64)?;
        if let Ok(boot) = procfs::boot_time_secs() {
            let started = boot as f64 + stat.starttime as f64 / ticks;
            sheet.gauge("process_start_time_seconds", "When this process began, since the Unix epoch", started)?;
        }
    }
    if let Ok(open) = process.fd_count() {
        sheet.gauge("process_open_fds", "Open files and sockets of this process", open as f64)?;
    }
    if let Ok(limits) = process.limits()
        && let procfs::process::LimitValue::Value(most) = limits.max_open_files.soft_limit
    {
        sheet.gauge("process_max_fds", "As many as this process may have open", most as f64)?;
    }
    Ok(())
}
