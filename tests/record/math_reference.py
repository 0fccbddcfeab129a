"""Records tests/data/math_reference.csv, the 100-digit reference of src/math/tests/table.rs.

    pip install mpmath && python tests/record/math_reference.py

A row is: function, x, y, hi, lo. All numbers are the bits of doubles in hexadecimal; hi + lo is the
value to about 106 bits, and y is 0 (or the order n of polygamma, as a double) where there is one
argument only. Arguments are pseudo-random (fixed seed) over each function's range, and the ones that
are hard: next to zeros, poles, multiples of π/2, thresholds of overflow, underflow and subnormals.
"""
import math
import pathlib
import random
import struct
from mpmath import mp, mpf
import mpmath as m

mp.dps = 100
rng = random.Random(20240607)


def bits(d):
    return format(struct.unpack("<Q", struct.pack("<d", d))[0], "x")


def uniform(lo, hi, n):
    return [rng.uniform(lo, hi) for _ in range(n)]


def log_uniform(lo, hi, n, signs=(1,)):
    """n numbers 2^u, u uniform in [lo, hi], each with a random sign out of `signs`."""
    return [rng.choice(signs) * math.ldexp(rng.uniform(1, 2), int(rng.uniform(lo, hi))) for _ in range(n)]


def around(*centres, n=6):
    """The nearest doubles to each centre, and a few at growing distances."""
    out = []
    for c in centres:
        c = float(c)
        out += [math.nextafter(c, math.inf), math.nextafter(c, -math.inf), c]
        out += [c * (1 + rng.choice((-1, 1)) * 2.0 ** -rng.uniform(5, 50)) for _ in range(n)]
    return out


SUBNORMAL = [5e-324, 1e-310, 2.2250738585072014e-308, -3e-320]
BOTH = (1, -1)
PSI_ROOT = m.findroot(m.digamma, 1.4616321449683623)
angles = uniform(-10, 10, 40) + log_uniform(-30, 30, 30, BOTH) + log_uniform(30, 1023, 40, BOTH) + around(
    *(k * mp.pi / 2 for k in (1, 2, 3, 7, 100, 12345, 683565275)), n=1) + SUBNORMAL + [6381956970095103.0 * 2.0**797]

# name: (function, arguments)
UNARY = {
    "exp": (m.exp, uniform(-745.2, 709.8, 80) + log_uniform(-60, 9, 30, BOTH) + around(709.782712893384, -708.3964, -745.13)),
    "ln": (m.log, log_uniform(-1022, 1023, 60) + around(1, 0.7071067811865476, 1.4142135623730951, 2) + uniform(0.5, 2, 40) + SUBNORMAL[:3]),
    "sin": (m.sin, angles),
    "cos": (m.cos, angles),
    "tan": (m.tan, angles),
    "tanh": (m.tanh, uniform(-22, 22, 60) + log_uniform(-60, 3, 50, BOTH) + SUBNORMAL),
    "atan": (m.atan, uniform(-4, 4, 60) + log_uniform(-60, 60, 50, BOTH) + around(0.41421356, 2.41421356, 1) + SUBNORMAL),
    "erf": (m.erf, uniform(-6, 6, 80) + log_uniform(-60, 2, 30, BOTH) + around(0.75, -0.75, 5.92) + SUBNORMAL),
    "erfc": (m.erfc, uniform(-6, 6, 40) + uniform(6, 27.3, 80) + log_uniform(-60, 2, 20, BOTH) + around(0.75, 26.543258, 27.2)),
    "exp_m1": (m.expm1, uniform(-3, 3, 60) + log_uniform(-60, 9, 50, BOTH) + around(709.782712893384, -37, 37) + SUBNORMAL),
    "ln_1p": (m.log1p, uniform(-1, 3, 60) + log_uniform(-60, 1000, 30) + log_uniform(-60, -1, 30, BOTH) + around(-0.2928932188, 0.4142135624) + SUBNORMAL),
    "log2": (lambda x: m.log(x) / m.log(2), log_uniform(-1022, 1023, 40) + uniform(0.5, 2, 60) + around(1, 8) + SUBNORMAL[:3]),
    "log10": (lambda x: m.log(x) / m.log(10), log_uniform(-1022, 1023, 40) + uniform(0.5, 2, 60) + around(1, 1000) + SUBNORMAL[:3]),
    "sinh": (m.sinh, uniform(-4, 4, 60) + log_uniform(-60, 9, 50, BOTH) + around(710.4758, 22) + SUBNORMAL),
    "cosh": (m.cosh, uniform(-4, 4, 60) + log_uniform(-60, 9, 50, BOTH) + around(710.4758, 22)),
    "asin": (m.asin, uniform(-1, 1, 80) + log_uniform(-60, -1, 30, BOTH) + around(0.5, -0.5) + [1.0, -1.0] + SUBNORMAL),
    "acos": (m.acos, uniform(-1, 1, 80) + log_uniform(-60, -1, 30, BOTH) + around(0.5, -0.5) + [1.0, -1.0, 0.9999999999999999]),
    "cbrt": (lambda x: m.sign(x) * m.cbrt(abs(x)), uniform(-9, 9, 40) + log_uniform(-1022, 1023, 60, BOTH) + around(8) + SUBNORMAL),
    "ln_gamma": (m.loggamma, uniform(0, 10, 90) + log_uniform(-60, 60, 40) + log_uniform(60, 1013, 20) + around(1, 2, 0.5, 1.5, 2.5, 7.5) + SUBNORMAL[:3]),
    "ln_gamma_negative": (lambda x: m.log(abs(m.gamma(x))) if x > -150 else m.log(m.pi / abs(m.sinpi(x))) - m.loggamma(1 - x),
        uniform(-8, 0, 60) + uniform(-400, -8, 40) + log_uniform(-60, -1, 15, (-1,)) + around(-2.4570247382208006, -2.7476826467274127, -3.1435808883499798, n=3)),
    "digamma": (m.digamma, uniform(0, 12, 90) + log_uniform(-55, 60, 40) + log_uniform(60, 1023, 20) + around(PSI_ROOT, 1, 2, 8)),
    "digamma_negative": (m.digamma, uniform(-8, 0, 60) + uniform(-400, -8, 40) + log_uniform(-50, -1, 15, (-1,)) + around(-0.504083008264455, -1.573498473162390, n=3)),
}
pow_pairs = [(x, rng.uniform(-744, 709.7) / math.log(x)) for x in log_uniform(-1022, 1023, 120) if x != 1]
pow_pairs += [(rng.uniform(0.5, 2), rng.uniform(-900, 900)) for _ in range(60)] + [(x, rng.uniform(-1, 1) * 1e18) for x in around(1, n=0)]
pow_pairs += [(-x, float(k)) for x, k in zip(uniform(0, 9, 20), range(-10, 10))] + [(5e-324, 0.3), (1e-310, -0.99), (1.7e308, 0.999)]
pairs = [(rng.choice(BOTH) * a, b) for a, b in zip(log_uniform(-1020, 1020, 60, BOTH), log_uniform(-1020, 1020, 60, BOTH))]
pairs += [(rng.uniform(-3, 3), rng.uniform(-3, 3)) for _ in range(80)] + [(1.7e308, 1.2e308), (1e-310, 3e-310), (1e308, -1.7e308), (4e-324, 1.0)]
pairs += [(a, a * rng.uniform(-3, 3)) for a in log_uniform(-1000, 1000, 20)]
# ψ⁽ⁿ⁾(x) at (x, n)
polygamma = [(x, n) for n in (1, 2, 3, 4) for x in uniform(0, 25, 18) + log_uniform(-100, 100, 10)]
polygamma += [(x, n) for n in (7, 12, 20) for x in uniform(0.1, 40, 10)] + [(1e300, 1), (3e-170, 1), (2.5, 100), (300.0, 150), (40.0, 200)]
polygamma += [(x, n) for n in (1, 3) for x in uniform(-9, 0, 12)]
BINARY = {
    "pow": (lambda x, y: m.power(x, y), pow_pairs),
    "atan2": (lambda y, x: m.atan2(y, x), pairs),
    "hypot": (lambda x, y: m.hypot(x, y), [(a, b) for a, b in pairs if abs(a) + abs(b) < 1.7e308]),
    "polygamma": (lambda x, n: m.psi(int(n), x), [(x, float(n)) for x, n in polygamma]),
}


def wright_omega(x):
    """omega + ln omega = x by Newton's method on the form that is well conditioned."""
    if x < 1:
        return m.lambertw(m.exp(x)).real
    omega = mpf(x) - m.log(x) if x > 2 else mpf(1)
    for _ in range(12):
        omega -= (omega + m.log(omega) - x) * omega / (1 + omega)
    return omega


def to_double(v):
    """v rounded to nearest even, subnormals and overflow included (mpmath's float() is not)."""
    if v == 0 or not m.isfinite(v):
        return float(v)
    exponent = max(int(m.floor(m.log(abs(v), 2))), -1022) - 52
    scaled = m.ldexp(v, -exponent)
    whole = int(m.nint(scaled))
    try:
        return math.ldexp(whole, exponent)
    except OverflowError:
        return math.copysign(math.inf, whole)


def row(name, x, y, value):
    hi = to_double(value)
    lo = to_double(value - mpf(hi)) if math.isfinite(hi) else 0.0
    return ",".join((name, bits(x), bits(y), bits(hi), bits(lo)))


rows = [row(name, x, 0.0, f(mpf(x))) for name, (f, xs) in UNARY.items() for x in xs]
rows += [row(name, x, y, f(mpf(x), mpf(y))) for name, (f, ps) in BINARY.items() for x, y in ps]


def scaled(f, n, x, sign):
    """e^(sign |x|) f(n, x), by Hankel's series (DLMF 10.40) where the exponential is out of reach."""
    a = abs(x)
    if a < 1000:
        return m.exp(sign * a) * f(n, x)
    total = term = mpf(1)
    for k in range(1, 45):
        term *= sign * mpf(4 * n * n - (2 * k - 1) ** 2) / (8 * k * a)
        total += term
    lead = m.sqrt(m.pi / (2 * a)) if sign > 0 else m.sqrt(1 / (2 * m.pi * a))
    return lead * total * (-1 if x < 0 and n == 1 else 1)


# After all others, whose random numbers stay as they were.
LATER = {
    "erfcx": (lambda x: m.exp(x * x) * m.erfc(x) if x < 100 else m.hyperu(0.5, 0.5, x * x) / m.sqrt(m.pi),
        uniform(-26.6, 0, 60) + uniform(0, 28, 80) + log_uniform(-60, 6, 40, (1,)) + log_uniform(6, 1023, 20) + log_uniform(-60, 2, 20, (-1,))
        + around(0.75, 28, -0.75) + [-26.6287, -26.7, 1.7e308] + SUBNORMAL),
    "wright_omega": (wright_omega, uniform(-60, 60, 120) + uniform(-3, 4, 80) + log_uniform(-60, 9, 40, BOTH) + log_uniform(9, 1023, 20)
        + around(1, 0, -50, -2) + [-745.1, -744.0, -709.0, -710.5, -746.0] + SUBNORMAL),
    "asinh": (m.asinh, uniform(-3, 3, 60) + log_uniform(-60, 60, 50, BOTH) + log_uniform(60, 1023, 10, BOTH) + around(1, 2.0**-29, n=3) + SUBNORMAL),
    "acosh": (m.acosh, uniform(1, 4, 60) + [1 + v for v in log_uniform(-51, 0, 40)] + log_uniform(0, 60, 20) + log_uniform(60, 1023, 10) + [1.0, 2.0**60]),
    "atanh": (m.atanh, uniform(-1, 1, 70) + log_uniform(-60, -1, 30, BOTH) + [1 - v for v in log_uniform(-53, -1, 20)] + SUBNORMAL),
    "exp2": (lambda x: mpf(2)**x, uniform(-1075, 1024, 70) + uniform(-1, 1, 30) + log_uniform(-60, 10, 30, BOTH) + around(1024, -1022, -1075, n=3)),
    "gamma": (m.gamma, uniform(0, 8, 50) + uniform(7, 171.7, 40) + log_uniform(-60, 3, 20) + uniform(-8, 0, 40) + uniform(-185, -8, 40)
        + around(1, 2, 0.5, 1.5, 2.5, 7.5, n=1) + [171.6243769563027, 171.624376956303, -1e-300, 1e-300]),
    "e1": (m.e1, uniform(0, 1.25, 40) + uniform(1.25, 30, 50) + uniform(1, 740, 40) + log_uniform(-1022, 0, 30) + around(1.25, n=3) + SUBNORMAL[:3]),
}
i_plain = uniform(-13, 13, 60) + uniform(12, 713.9, 40) + log_uniform(-50, 3, 20, BOTH) + around(12, n=2) + [713.98, 713.986, 713.99, -715.0]
i_scaled = uniform(-13, 13, 60) + uniform(12, 800, 30) + log_uniform(10, 1023, 20, BOTH) + log_uniform(-50, 3, 20, BOTH) + around(12, n=2)
k_plain = uniform(0, 1, 40) + uniform(1, 30, 40) + uniform(1, 745, 30) + log_uniform(-1000, 0, 20) + around(1, n=2) + [705.5, 742.0]
k_scaled = uniform(0, 1, 40) + uniform(1, 30, 40) + log_uniform(3, 1023, 30) + log_uniform(-1000, 0, 20) + around(1, n=2)
k_pole = [5e-324, 5.7e-309, 1e-10, 9.9e-11]
LATER |= {
    "i0": (lambda x: m.besseli(0, x), i_plain),
    "i0e": (lambda x: scaled(m.besseli, 0, x, -1), i_scaled),
    "i1": (lambda x: m.besseli(1, x), i_plain),
    "i1e": (lambda x: scaled(m.besseli, 1, x, -1), i_scaled),
    "k0": (lambda x: m.besselk(0, x), k_plain),
    "k0e": (lambda x: scaled(m.besselk, 0, x, 1), k_scaled),
    "k1": (lambda x: m.besselk(1, x), k_plain + k_pole),
    "k1e": (lambda x: scaled(m.besselk, 1, x, 1), k_scaled + k_pole),
}


def bessel(f, nu, x):
    """J or Y; beyond 1e5 by Hankel's expansion (DLMF 10.17), with enough digits for the largest angle."""
    if abs(x) < 1e5:
        return f(nu, x)
    a, p, q = mpf(1), mpf(1), mpf(0)
    for k in range(1, 21):
        a *= mpf(4 * nu * nu - (2 * k - 1) ** 2) / (8 * k * x)
        if k % 2:
            q += a if k % 4 == 1 else -a
        else:
            p += a if k % 4 == 0 else -a
    with m.workprec(1500):
        angle = x - (mpf(nu) / 2 + mpf(1) / 4) * m.pi
        c, s = m.cos(angle), m.sin(angle)
    return m.sqrt(2 / (m.pi * x)) * (p * c - q * s if f == m.besselj else p * s + q * c)


waves = uniform(0, 9, 60) + uniform(8, 70, 30) + log_uniform(6, 60, 30) + log_uniform(60, 1023, 15) + log_uniform(-1000, 0, 20) + around(1.6, 8, n=2)
for name, f, zero in (("j", m.besselj, m.besseljzero), ("y", m.bessely, m.besselyzero)):
    for nu in (0, 1):
        value = lambda x, f=f, nu=nu: bessel(f, nu, x)
        mirrored = [-x for x in uniform(0, 30, 10)] if name == "j" else []
        LATER[f"{name}{nu}"] = (value, waves + mirrored)
        # Next to the first zeros the error is relative.
        LATER[f"{name}{nu}_zero"] = (value, around(*(zero(nu, k) for k in (1, 2, 3, 4, 5, 7, 10, 13, 16, 20)), n=3))
rows += [row(name, x, 0.0, f(mpf(x))) for name, (f, xs) in LATER.items() for x in xs]
out = pathlib.Path(__file__).resolve().parent.parent / "data" / "math_reference.csv"
out.write_text("\n".join(rows) + "\n")
print(len(rows), "rows,", out.stat().st_size, "bytes")
