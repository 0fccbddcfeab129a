//! A tool: prints the CUDA devices and their bandwidths, or the reason why there is none. With `--list` nothing is
//! measured.

use comfy_table::{CellAlignment, Table, presets::UTF8_FULL_CONDENSED};
use dualfit::device::DeviceInfo;

fn main() {
    match dualfit::device::devices() {
        Ok(devices) => print(&devices),
        Err(reason) => println!("No CUDA device: fits run on the CPU.\n{reason}"),
    }
}

fn print(devices: &[DeviceInfo]) {
    let mut table = table(
        ["device", "", "memory", "free", "capability", "SMs", "driver", "NVRTC"],
        &[0, 2, 3, 4, 5],
    );
    for device in devices {
        let gib = |bytes: usize| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
        let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        table.add_row([
            device.ordinal.to_string(),
            device.name.clone(),
            gib(device.memory_total),
            device.memory_free.map_or("unknown".into(), gib),
            version(device.compute_capability),
            device.multiprocessors.to_string(),
            format!("CUDA {}", version(device.driver_version)),
            device.nvrtc_version.map_or("none".into(), version),
        ]);
    }
    println!("{table}\n");

    let measures = !std::env::args().any(|argument| argument == "--list");
    let mut table = self::table(
        ["device", "host to device", "device to host", "copy in device", "read in device"],
        &[0, 1, 2, 3, 4],
    );
    let mut problems = Vec::new();
    for device in devices {
        if let Some(problem) = &device.problem {
            problems.push(format!("Device {}: {problem}", device.ordinal));
            continue;
        }
        match measures.then(|| device.bandwidth()) {
            None => {}
            Some(Err(reason)) => problems.push(reason.to_string()),
            Some(Ok(measured)) => {
                let rate = |bytes: f64| format!("{:.1} GB/s", 1e-9 * bytes);
                table.add_row([
                    device.ordinal.to_string(),
                    rate(measured.host_to_device),
                    rate(measured.device_to_host),
                    rate(measured.device_to_device),
                    rate(measured.memory_read),
                ]);
            }
        }
    }
    if !table.is_empty() {
        println!(
            "{table}\nThe host's memory is ordinary, not page-locked; copies count reads and writes."
        );
    }
    problems.iter().for_each(|problem| println!("{problem}"));
    loaded().iter().for_each(|file| println!("Loaded: {file}"));
}

/// Returns the files of driver and NVRTC that this process has loaded, if the system lists them.
fn loaded() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut files: Vec<String> =
        maps.lines().filter_map(|line| Some(line[line.find('/')?..].to_owned())).collect();
    files.retain(|file| {
        let name = file.rsplit('/').next().unwrap_or_default();
        ["libcuda.so", "libnvrtc.so", "libnvrtc-"].iter().any(|begin| name.starts_with(begin))
            && !name.contains("builtins")
    });
    files.dedup();
    files
}

/// Returns an empty table; the columns `right` are right-aligned.
fn table<const N: usize>(header: [&str; N], right: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header);
    for column in right {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
