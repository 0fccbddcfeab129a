"""Joint fits beside SciPy: 10 to 10,000 sets with two parameters each and two of all, time, cost, parameters and errors.

Usage, in this folder: python joint.py [SETS ...]   (pip install scipy, and cargo on the path)

Runs the bench `joint`, which writes its data, and fits them from the same start by three roads, all residuals in one vector and the
Jacobian by hand: scipy.optimize.least_squares with a sparse Jacobian (the trust region with LSMR, columns scaled by the
Jacobian), with its own tolerances and with ones that reach the least cost; and curve_fit with the same Jacobian as a full matrix, which
alone of these gives standard errors. A road ends where a fit would take more than two minutes, by its last one.
Times are the least of several, of one thread.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# As many as dualfit takes here; of more, each waits for the others in every product of LSMR.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy
from scipy.optimize import curve_fit, least_squares
from scipy.sparse import csr_matrix

POINTS = 100
LONGEST = 120.0
TIGHT = dict(ftol=1e-13, xtol=1e-12, gtol=1e-12, tr_options=dict(atol=1e-12, btol=1e-12))


class Stacked:
    """a exp(-k1 t) + b exp(-k2 t): parameters k1, k2, then a and b of each set."""

    def __init__(self, t, y):
        self.t, self.y, self.sets = t, y, t.size // POINTS
        own = 2 + 2 * np.repeat(np.arange(self.sets), POINTS)
        self.columns = np.column_stack([np.zeros_like(own), np.ones_like(own), own, own + 1]).ravel()
        self.rows = np.arange(0, 4 * t.size + 1, 4)
        self.known = None

    def terms(self, p):
        """Both exponentials; the Jacobian is asked for where the residuals were."""
        if self.known is None or not np.array_equal(self.known[0], p):
            self.known = p.copy(), np.exp(-p[0] * self.t), np.exp(-p[1] * self.t)
        return self.known[1:]

    def amplitudes(self, p):
        return np.repeat(p[2::2], POINTS), np.repeat(p[3::2], POINTS)

    def residuals(self, p):
        (first, second), (a, b) = self.terms(p), self.amplitudes(p)
        return a * first + b * second - self.y

    def jacobian(self, p):
        (first, second), (a, b) = self.terms(p), self.amplitudes(p)
        values = np.column_stack([-self.t * a * first, -self.t * b * second, first, second]).ravel()
        return csr_matrix((values, self.columns, self.rows), shape=(self.t.size, p.size))

    def cost(self, p):
        return 0.5 * np.sum(self.residuals(p) ** 2)

    def sparse(self, start, **options):
        found = least_squares(self.residuals, start, self.jacobian, method="trf", tr_solver="lsmr", x_scale="jac", **options)
        return found.x, None, found.nfev, found.status

    def full(self, start):
        model = lambda _, *p: self.residuals(np.array(p)) + self.y
        jacobian = lambda _, *p: self.jacobian(np.array(p)).toarray()
        found, covariance, told, _, status = curve_fit(model, self.t, self.y, start, jac=jacobian, full_output=True)
        return found, np.sqrt(np.diag(covariance)), told["nfev"], status


# What fits, and the power of sets with which its time grows.
ROADS = {
    "sparse, its own tolerances": (Stacked.sparse, 1),
    "sparse, tight": (lambda stacked, start: stacked.sparse(start, **TIGHT), 1),
    "curve_fit, full": (Stacked.full, 3),
}


def ours(sets, folder):
    """The least seconds of the fit; the data, the start, the end and its standard errors."""
    command = ["cargo", "bench", "--quiet", "--bench", "joint", "--", str(sets)]
    environment = {**os.environ, "DUALFIT_JOINT_FOLDER": folder}
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd="../..", env=environment).stdout
    row = next(line for line in text.splitlines() if line.startswith(f"| {sets} |"))
    names = ("times", "values", "start", "found", "errors")
    return 1e-3 * float(row.split("|")[4]), *(np.fromfile(Path(folder) / f"{name}.f64") for name in names)


def least_of(road, stacked, start):
    """The least seconds of three, or of one that is long, and what it found."""
    times = []
    while len(times) < 3 and sum(times) < 10:
        stacked.known = None
        begun = time.perf_counter()
        found = road(stacked, start)
        times.append(time.perf_counter() - begun)
    return min(times), *found


def main(sizes):
    print(f"scipy {scipy.__version__}, numpy {np.__version__}\n")
    print("| sets | SciPy | dualfit s | SciPy s | ratio | nfev, status | cost over ours, relative | shared parameters off by | own ones | errors |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    last = {}
    for sets in sizes:
        with tempfile.TemporaryDirectory() as folder:
            seconds, t, y, start, end, errors = ours(sets, folder)
        stacked = Stacked(t, y)
        cost = stacked.cost(end)
        for name, (road, power) in ROADS.items():
            if name in last and last[name][1] * (sets / last[name][0]) ** power > LONGEST:
                continue
            taken, found, found_errors, evaluations, status = least_of(road, stacked, start)
            away = np.abs(found / end - 1)
            of_errors = "none" if found_errors is None else f"{np.abs(found_errors / errors - 1).max():.1e}"
            print(f"| {sets} | {name} | {seconds:.3g} | {taken:.3g} | {taken / seconds:.0f} | {evaluations}, {status} | {stacked.cost(found) / cost - 1:.1e} "
                  f"| {away[:2].max():.1e} | {away[2:].max():.1e} | {of_errors} |", flush=True)
            last[name] = sets, taken


if __name__ == "__main__":
    main([int(sets) for sets in sys.argv[1:]] or [10, 30, 100, 300, 1000, 3000, 10_000])
