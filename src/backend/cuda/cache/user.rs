//! The cache of this process, in the user's folder.

use super::{Cache, DiskCache, settings};
use std::env;
use std::sync::OnceLock;

impl Cache {
    /// Returns the cache of this process. `DUALFIT_CACHE_DIR` and `DUALFIT_CACHE_LIMIT` are read once.
    pub(crate) fn shared() -> &'static Cache {
        static SHARED: OnceLock<Cache> = OnceLock::new();
        SHARED.get_or_init(|| Cache::new(DiskCache::of_user()))
    }
}

impl DiskCache {
    /// Returns the user's cache as configured by the environment; `None` if it is switched off or has no folder.
    fn of_user() -> Option<DiskCache> {
        let variable = |name| env::var_os(name);
        settings(variable("DUALFIT_CACHE_DIR"), variable("DUALFIT_CACHE_LIMIT"), dirs::cache_dir)
    }
}
