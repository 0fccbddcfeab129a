"""Records tests/data/faddeeva.csv, the reference of w(z) and its derivative in src/math/tests/faddeeva.rs.

    pip install mpmath==1.4.1 && python tests/record/faddeeva.py

A row is: x, y, Re w, Im w, Re w', Im w', the bits of doubles in hexadecimal, of z = x + iy. Points are
pseudo-random (fixed seed) over the plane and where methods change or digits are lost: next to the real
axis, far out, along the circle |z| = 10, below the axis. The values come from e^(-z^2) erfc(-iz) with so
many digits that the smaller part keeps thirty, and from the differential equation; far out from the
asymptotic series, whose terms there fall below the last digit.
"""
import math
import pathlib
import random
import struct
import mpmath as m
from mpmath import mp, mpf, mpc

assert m.__version__ == "1.4.1", m.__version__
rng = random.Random(20240611)


def bits(d):
    return format(struct.unpack("<Q", struct.pack("<d", d))[0], "x")


def to_double(v):
    """v rounded to nearest even, subnormals and overflow included."""
    if v == 0 or not m.isfinite(v):
        return float(v)
    exponent = max(int(m.floor(m.log(abs(v), 2))), -1022) - 52
    whole = int(m.nint(m.ldexp(v, -exponent)))
    try:
        return math.ldexp(whole, exponent)
    except OverflowError:
        return math.copysign(math.inf, whole)


def series(z):
    """i/sqrt(pi) sum (2n-1)!!/2^n z^(-2n-1) and its derivative."""
    value, slope, term = mpc(0), mpc(0), 1 / z
    for n in range(200):
        value += term
        slope -= (2 * n + 1) * term / z
        term *= mpf(2 * n + 1) / (2 * z * z)
        if abs(term) < abs(value) * m.eps:
            break
    factor = mpc(0, 1) / m.sqrt(m.pi)
    return factor * value, factor * slope


def w(x, y):
    """w and w' in the upper half plane; x, y are doubles."""
    small = min([abs(v) for v in (x, y) if v] or [1.0])
    large = max(abs(x), abs(y))
    digits = 60 + int(max(0, -math.log10(small))) + 4 * int(max(0, math.log10(large or 1)))
    digits += int(x * x / 2.3) if abs(x) < 40 else 0
    mp.dps = digits + 100
    z = mpc(x, y)
    if large > 40 and min(large, 1e6) ** 2 > 2.4 * (digits + 100):
        return series(z)
    value = m.exp(-z * z) * m.erfc(mpc(0, -1) * z)
    return value, -2 * z * value + mpc(0, 2) / m.sqrt(m.pi)


def anywhere(x, y):
    if y >= 0:
        return w(x, y)
    value, slope = w(-x, -y)
    z = mpc(x, y)
    twice = 2 * m.exp(-z * z)
    return twice - value, slope - 2 * z * twice


def power(low, high):
    return 10.0 ** rng.uniform(low, high)


points = [(rng.uniform(0, 8), rng.uniform(0, 7)) for _ in range(400)]
points += [(rng.uniform(0, 30), rng.uniform(0, 30)) for _ in range(150)]
points += [(rng.uniform(0, 11), power(-20, 1)) for _ in range(250)]
points += [(rng.uniform(0, 28), power(-300, -1)) for _ in range(80)]
points += [(power(-20, 1), rng.uniform(0, 11)) for _ in range(120)]
points += [(power(-300, 0), power(-300, 0)) for _ in range(40)]
points += [(power(1, 8), power(-8, 8)) for _ in range(100)]
points += [(power(1, 300), power(-300, 300)) for _ in range(80)]
points += [(rng.uniform(0, 27), 0.0) for _ in range(80)] + [(power(-300, 300), 0.0) for _ in range(20)]
points += [(0.0, power(-300, 300)) for _ in range(20)] + [(0.0, rng.uniform(0, 12)) for _ in range(20)]
for _ in range(80):  # where the series begins
    angle, radius = rng.uniform(0, math.pi / 2), 10 + rng.uniform(-1e-3, 1e-3)
    points.append((radius * math.cos(angle), radius * math.sin(angle)))
step = math.sqrt(math.pi / 12)
for k in range(16):  # at and between the nodes of the rule, where its two forms meet, and where its poles end
    points += [(k * step / 4, y) for y in (0.0, 1e-12, 0.3, 2.0)]
    points += [(k * step / 4, math.pi / step + d) for d in (-1e-9, 1e-9)]
points += [(-x, y) for x, y in rng.sample(points, 60)]
points += [(rng.uniform(-6, 6), rng.uniform(-6, 0)) for _ in range(150)]
points += [(rng.uniform(-30, 30), -rng.uniform(0, 26)) for _ in range(60)]

rows = []
for x, y in points:
    value, slope = anywhere(x, y)
    rows.append(",".join(bits(v) for v in (x, y, *map(to_double, (value.real, value.imag, slope.real, slope.imag)))))
out = pathlib.Path(__file__).resolve().parent.parent / "data" / "faddeeva.csv"
out.write_text("\n".join(rows) + "\n")
print(len(rows), "rows,", out.stat().st_size, "bytes")
