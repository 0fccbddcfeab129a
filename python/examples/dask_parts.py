"""The fit of `shared_points` over the workers of a Dask cluster: python dask_parts.py [parts]"""

from __future__ import annotations

import sys

import shared_points
from dask.distributed import Client, LocalCluster, wait

import dualfit
import dualfit.dask


def load(ends: tuple[int, int]):
    """Return a part of the points. Runs on the worker that keeps the part."""
    x, y = shared_points.points(*ends)
    return x, y, ends[0]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(
            cluster) as client:
        parts = client.map(load, dualfit.Part.share(shared_points.POINTS, count))
        wait(parts)
        fit = dualfit.dask.fit(client, shared_points.model, parts, shared_points.START)
    print(shared_points.shown(fit.params))


if __name__ == "__main__":
    main()
