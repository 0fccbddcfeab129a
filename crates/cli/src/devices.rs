//! `dualfit devices`: which CUDA devices there are and how fast they move data, or why there is none.

use crate::output::{TITLE, print, styled};
use crate::refusal::{DONE, Outcome};

pub(crate) fn run(bandwidth: bool) -> Outcome<u8> {
    let mut text = String::new();
    match dualfit::devices() {
        Err(reason) => text += &format!("No CUDA device: fits run on the CPU.\n{reason}\n"),
        Ok(devices) => {
            for device in &devices {
                text += &format!("{device}\n");
            }
            if bandwidth {
                let title = ["device", "to device", "to host", "copy in device", "read in device"];
                let title = title.map(|name| format!("{name:>14}")).join(" ");
                text += &format!("\n{}\n", styled(TITLE, title));
                for device in &devices {
                    match device.bandwidth() {
                        Err(reason) => text += &format!("{:>14} {reason}\n", device.ordinal),
                        Ok(found) => {
                            let rates = [
                                found.host_to_device,
                                found.device_to_host,
                                found.device_to_device,
                                found.memory_read,
                            ];
                            let rates = rates.map(|rate| format!("{:>9.1} GB/s", 1e-9 * rate));
                            text += &format!("{:>14} {}\n", device.ordinal, rates.join(" "));
                        }
                    }
                }
            }
        }
    }
    print(&text)?;
    Ok(DONE)
}
