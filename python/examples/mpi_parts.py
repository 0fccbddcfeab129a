"""The fit of `shared_points` over the ranks of an MPI job: mpirun -n 4 python mpi_parts.py"""

from __future__ import annotations

import shared_points
from mpi4py import MPI

import dualfit
import dualfit.mpi


def main() -> None:
    comm = MPI.COMM_WORLD
    first, end = dualfit.Part.share(shared_points.POINTS, comm.size)[comm.rank]
    x, y = shared_points.points(first, end)
    fit = dualfit.mpi.fit(comm, shared_points.model, x, y, first, shared_points.START)
    if fit is not None:
        print(shared_points.shown(fit.params))


if __name__ == "__main__":
    main()
