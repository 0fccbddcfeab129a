//! Whether this process runs in a container, which has the driver and the devices that it was started with.

use std::fs;
use std::path::Path;

/// Files that Docker and Podman leave in the root of a container.
const MARKS: [&str; 2] = [".dockerenv", "run/.containerenv"];
/// What the control groups of a container are called by those who start them.
const GROUPS: [&str; 5] = ["docker", "containerd", "kubepods", "libpod", "lxc"];

/// `root` is the root of the file system.
pub(super) fn is_container(root: &Path) -> bool {
    let groups = fs::read_to_string(root.join("proc/1/cgroup")).unwrap_or_default();
    MARKS.iter().any(|mark| root.join(mark).exists())
        || GROUPS.iter().any(|group| groups.contains(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_control_groups_tell_of_a_container() {
        let with = |file: &str, text: &str| {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            is_container(root.path())
        };
        assert!(with(".dockerenv", "") && with("run/.containerenv", "engine=\"podman-4\""));
        assert!(with("proc/1/cgroup", "0::/system.slice/docker-4f1c.scope\n"));
        assert!(with("proc/1/cgroup", "12:cpu:/kubepods/besteffort/pod1/2\n"));
        assert!(!with("proc/1/cgroup", "0::/init.scope\n") && !with("etc/hosts", "docker"));
    }
}
