"""Records tests/data/voigt.csv, the reference of tests/voigt.rs.

    pip install mpmath==1.4.1 && python tests/record/voigt.py

A row is: x, sigma, gamma, the Voigt profile of area 1, and its derivatives by x, sigma and gamma, the bits
of doubles in hexadecimal. The profile is the convolution that defines it,

    V = int G(t; sigma) L(x - t; gamma) dt,

and its derivatives are those of the integrand, by quadrature to 30 digits: no Faddeeva function. In the far
wings, |x| > 60 sigma, the convolution is summed from the moments of the Gaussian, sum of
sigma^2n / (2n)!! times the derivative of order 2n of the Lorentzian.
"""
import pathlib
import random
import struct
import mpmath as m
from mpmath import mp, mpf

assert m.__version__ == "1.4.1", m.__version__
mp.dps = 40
rng = random.Random(20240612)


def bits(d):
    return format(struct.unpack("<Q", struct.pack("<d", float(d)))[0], "x")


def by_quadrature(x, s, g):
    """V and its derivatives by x, sigma, gamma."""
    def integral(f):
        edges = sorted({k * s for k in (-14, -6, -3, -1, 0, 1, 3, 6, 14)}
                       | {e for k in (-30, -5, -1, 0, 1, 5, 30) if abs(e := x + k * g) < 14 * s})
        return m.quad(f, edges)

    gauss = lambda t: m.exp(-t * t / (2 * s * s)) / (s * m.sqrt(2 * m.pi))
    lorentz = lambda u: g / (m.pi * (u * u + g * g))
    by_u = lambda u: -2 * u * g / (m.pi * (u * u + g * g) ** 2)
    by_g = lambda u: (u * u - g * g) / (m.pi * (u * u + g * g) ** 2)
    return (integral(lambda t: gauss(t) * lorentz(x - t)), integral(lambda t: gauss(t) * by_u(x - t)),
            integral(lambda t: gauss(t) * (t * t / s ** 3 - 1 / s) * lorentz(x - t)),
            integral(lambda t: gauss(t) * by_g(x - t)))


def by_moments(x, s, g):
    """The same where |x + i gamma| >> sigma; L = Im 1/(pi (u - i gamma))."""
    z = m.mpc(x, -g)
    value = slope = by_s = m.mpc(0)
    power = mpf(1)  # (2n - 1)!! sigma^2n
    for n in range(30):
        value += power / z ** (2 * n + 1)
        slope -= (2 * n + 1) * power / z ** (2 * n + 2)
        by_s += 2 * n * power / s / z ** (2 * n + 1)
        power *= (2 * n + 1) * s * s
    return value.imag / m.pi, slope.imag / m.pi, by_s.imag / m.pi, -slope.real / m.pi


points = [(rng.uniform(-6, 6), rng.uniform(0.2, 3), rng.uniform(0.05, 3)) for _ in range(40)]
points += [(rng.uniform(-2, 2) * 1e-9, rng.uniform(1, 3) * 1e-9, rng.uniform(0.1, 3) * 1e-9) for _ in range(4)]
points += [(0.0, 1.3, 0.7), (0.0, 0.2, 3.0)]
far = [(10.0 ** rng.uniform(1.8, 7), rng.uniform(0.3, 1), 10.0 ** rng.uniform(-6, 1)) for _ in range(40)]

check_far, check_near = by_moments(mpf(70), mpf(1), mpf("0.5")), by_quadrature(mpf(70), mpf(1), mpf("0.5"))
assert all(abs(a - b) < abs(a) * mpf(10) ** -20 for a, b in zip(check_far, check_near))

rows = []
for which, points in ((by_quadrature, points), (by_moments, far)):
    for point in points:
        values = which(*map(mpf, point))
        rows.append(",".join(bits(v) for v in (*point, *values)))
out = pathlib.Path(__file__).resolve().parent.parent / "data" / "voigt.csv"
out.write_text("\n".join(rows) + "\n")
print(len(rows), "rows,", out.stat().st_size, "bytes")
