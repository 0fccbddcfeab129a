"""Records tests/data/poisson_deviance.csv, half the Poisson deviance of single points.

    pip install mpmath && python tests/record/poisson_deviance.py

A row is: expected f, count y, f - y + y ln(y/f), each the shortest decimal of a double; the last is
the value of 60 digits, rounded. f is near y at every distance, on both sides of where the series of
the logarithm ends, and far from it.
"""
import pathlib
from mpmath import mp, mpf, log

mp.dps = 60
rows = []
for y in [0.0, 0.3, 1.0, 2.0, 7.0, 100.0, 12345.0, 1e9, 1e15]:
    near = [s * 10.0**-k for k in range(1, 14) for s in (1, -1)]
    far = [0.2857142857, 0.2857142858, -0.2222222222, -0.2222222223, 0.5, -0.5, -0.9, -0.999, 3.0, 1e3]
    fs = [y * (1 + e) for e in near + far] + [1e-12, 1e-3, 1e6]
    for f in sorted(set(f for f in fs if f > 0)):
        half = mpf(f) - mpf(y) + (mpf(y) * log(mpf(y) / mpf(f)) if y else 0)
        rows.append(f"{f!r},{y!r},{float(half)!r}")
head = "# expected, count, half deviance; recorded by tests/record/poisson_deviance.py"
out = pathlib.Path(__file__).parent.parent / "data" / "poisson_deviance.csv"
out.write_text("\n".join([head, *rows]) + "\n")
