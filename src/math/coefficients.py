"""Makes the coefficients in this folder: weighted Remez exchange in 60-digit arithmetic, and quotients
of polynomials by interpolation.

    pip install mpmath && python coefficients.py [name ...]

Each entry approximates g(u) by a polynomial P(u) on [lo, hi] so that |w(u) (P(u) - g(u))| is least;
w turns the error of P into the relative error of the whole function. The coefficients are rounded
to doubles afterwards, and the error printed is that of the rounded polynomial (as a power of two).
Quotients P/Q meet g in points that crowd towards both ends; their error is a few times the least.
"""
import sys
from mpmath import mp, mpf, matrix, lu_solve, log, exp, sqrt, sin, cos, atan, asin, erf, erfc, pi, ln, cospi, polyval
from mpmath import loggamma, digamma, findroot, diff, gamma, e1, euler, besseli, besselk, besselj, bessely
from mpmath import besseljzero, besselyzero, atan2, workdps

mp.dps = 60


def remez(g, w, lo, hi, degree, rounds=12, grid=1500):
    n = degree + 2
    mid, half = (hi + lo) / 2, (hi - lo) / 2
    nodes = [mid - half * cospi(mpf(2 * i + 1) / (2 * n)) for i in range(n)]
    pts = [mid - half * cospi(mpf(i) / grid) for i in range(grid + 1)]
    floor = mpf(10) ** -9 * max(w(lo), w(hi))  # a node where w = 0 would force the error to 0
    gv = [g(u) for u in pts]
    wv = [w(u) for u in pts]
    for _ in range(rounds):
        a, b = matrix(n, n), matrix(n, 1)
        for i, u in enumerate(nodes):
            t = (u - mid) / half
            for j in range(degree + 1):
                a[i, j] = t**j
            a[i, degree + 1] = (-1) ** i / (w(u) + floor)
            b[i] = g(u)
        c = lu_solve(a, b)
        err = [wv[i] * (polyval([c[j] for j in range(degree, -1, -1)], (u - mid) / half) - gv[i]) for i, u in enumerate(pts)]
        peaks, start = [], 0
        for i in range(1, len(pts) + 1):  # the largest error between sign changes
            if i == len(pts) or (err[i] > 0) != (err[start] > 0):
                k = max(range(start, i), key=lambda q: abs(err[q]))
                peaks.append(k)
                start = i
        while len(peaks) > n:
            peaks.pop(0 if abs(err[peaks[0]]) < abs(err[peaks[-1]]) else -1)
        if len(peaks) < n:
            break
        nodes = [pts[k] for k in peaks]
        e = [abs(err[k]) for k in peaks]
        if max(e) < min(e) * mpf("1.01"):
            break
    # back from t = (u - mid) / half to u
    out = [mpf(0)] * (degree + 1)
    power = [mpf(1)]
    for j in range(degree + 1):
        for i, v in enumerate(power):
            out[i] += c[j] * v
        nxt = [mpf(0)] * (len(power) + 1)
        for i, v in enumerate(power):
            nxt[i] -= v * mid / half
            nxt[i + 1] += v / half
        power = nxt
    rounded = [mpf(float(v)) for v in out]
    worst = max(abs(wv[i] * (polyval(rounded[::-1], u) - gv[i])) for i, u in enumerate(pts))
    ideal = max(abs(x) for x in err)
    return [float(v) for v in out], float(log(worst, 2)), float(log(ideal, 2))


def quotient(g, w, lo, hi, top, bottom, crowd=2, grid=400):
    n = top + bottom + 1
    at = lambda s: lo + (hi - lo) * ((1 - cospi(s)) / 2) ** crowd  # more at lo for a larger crowd
    a, b = matrix(n, n), matrix(n, 1)
    for i in range(n):
        u = at((i + mpf(1) / 2) / n)
        b[i] = g(u)
        for j in range(top + 1):
            a[i, j] = u**j
        for j in range(1, bottom + 1):
            a[i, top + j] = -b[i] * u**j
    c = list(lu_solve(a, b))
    p, q = c[: top + 1], [mpf(1)] + c[top + 1 :]

    def worst(p, q):
        pts = [at((i + mpf(1) / 2) / grid) for i in range(grid)]
        e = max(abs(w(u) * (polyval(p[::-1], u) / polyval(q[::-1], u) - g(u))) for u in pts)
        return float(log(e, 2))

    rounded = [[float(v) for v in side] for side in (p, q)]
    return rounded, worst(*[[mpf(v) for v in side] for side in rounded]), worst(p, q)


def series(f, u, small, terms):
    """f(u), or near 0 the Taylor terms, where f would divide 0 by 0."""
    return f(u) if abs(u) > small else sum(t * u**k for k, t in enumerate(terms))


tiny = mpf(10) ** -12
L2 = ln(mpf(2))
from mpmath import factorial as fac

PSI_ROOT = findroot(digamma, mpf("1.4616321449683623"))


def ln_gamma_2(v):
    return digamma(mpf(2)) + v * diff(digamma, 2) / 2 if abs(v) < mpf(10) ** -25 else loggamma(2 + v) / v


def psi_over_root(t):
    d = t + mpf(3) / 2 - PSI_ROOT
    return diff(digamma, PSI_ROOT) if abs(d) < mpf(10) ** -25 else digamma(PSI_ROOT + d) / d


def bessel_series(nu, weight, z, first=0):
    """The terms weight(k) z^k / (k! (k + nu)!) from k = first on, over z^first, times nu!"""
    return fac(nu) * sum(weight(k) * z ** (k - first) / (fac(k) * fac(k + nu)) for k in range(first, 60))


def harmonic(k):
    return sum(mpf(1) / j for j in range(1, k + 1))


def hankel_rest(nu, sign, f, u):
    """(f(1/u) - 1) / u where f is 1 + sign a_1 u + a_2 u^2 + ..., DLMF 10.17.1 and 10.40."""
    def a(k):
        return a(k - 1) * (4 * nu**2 - (2 * k - 1) ** 2) / (8 * k) if k else mpf(1)
    return series(lambda u: (f(1 / u) - 1) / u, u, mpf(10) ** -9, [sign ** (k + 1) * a(k + 1) for k in range(6)])


def i_near(nu):
    g = lambda z: bessel_series(nu, lambda k: 1, z, 1)
    return remez(g, lambda z: z / (1 + z * g(z)), mpf(0), mpf(36), 18, grid=500)


def i_far(nu):
    u = lambda t: (1 + t) / 24
    g = lambda x: sqrt(2 * pi * x) * exp(-x) * besseli(nu, x)
    return remez(lambda t: hankel_rest(nu, -1, g, u(t)), u, mpf(-1), mpf(1), 16, grid=500)


def k_far(nu):
    g = lambda x: sqrt(2 * x / pi) * exp(x) * besselk(nu, x)
    return quotient(lambda u: hankel_rest(nu, 1, g, u), lambda u: u, mpf(0), mpf(1), 9, 9)


def j_near(nu):
    g = lambda z: -bessel_series(nu, lambda k: (-1) ** k, z, 1)
    return remez(g, lambda z: z, mpf(0), mpf("0.65"), 8)


def modulus_and_phase(nu, x):
    """sqrt(pi x/2) |J + iY|, and the argument of J + iY less x - (nu/2 + 1/4) pi, for large x."""
    angle = x - (mpf(nu) / 2 + mpf(1) / 4) * pi
    j, y, c, s = besselj(nu, x), bessely(nu, x), cos(angle), sin(angle)
    return sqrt(pi * x / 2 * (j * j + y * y)), atan2(y * c - j * s, j * c + y * s)


def far(nu, which):
    def g(u):
        with workdps(80):
            x = 1 / sqrt(max(u, mpf(10) ** -14))  # nearer to 0 nothing changes
            modulus, phase = modulus_and_phase(nu, x)
            if which == 0:
                return (modulus - 1) * x**2
            first, second = (-mpf(1) / 8, mpf(25) / 384) if nu == 0 else (mpf(3) / 8, -mpf(21) / 128)
            return ((phase * x - first) * x**2 - second) * x**2
    return quotient(g, lambda u: u if which == 0 else mpf(1), mpf(0), mpf(1) / 64, 5 + which, 5 + which, 1 + which, 300)


def zeros(zero, nu, slope, count=20):
    """The first zeros as two doubles, and the function's slope there."""
    z = [zero(nu, k + 1) for k in range(count)]
    return [(float(x), float(x - mpf(float(x))), float(slope(x))) for x in z]


TABLES = {
    "j0_zeros": lambda: zeros(besseljzero, 0, lambda x: -besselj(1, x)),
    "j1_zeros": lambda: zeros(besseljzero, 1, lambda x: besselj(0, x)),
    "y0_zeros": lambda: zeros(besselyzero, 0, lambda x: -bessely(1, x)),
    "y1_zeros": lambda: zeros(besselyzero, 1, lambda x: bessely(0, x)),
}
JOBS = {
    # e^r = 1 + r + r^2/2 + r^3 Q(r); relative to e^r - 1
    "exp": lambda: remez(
        lambda r: series(lambda r: (exp(r) - 1 - r - r * r / 2) / r**3, r, mpf(10) ** -10, [1 / fac(k + 3) for k in range(5)]),
        lambda r: r**2 / series(lambda r: (exp(r) - 1) / r, r, tiny, [1, mpf(1) / 2]), -L2 / 2 * mpf("1.001"), L2 / 2 * mpf("1.001"), 9),
    # 2 atanh(s) = 2 s + s z L(z), z = s^2; relative to 2 atanh(s)
    "ln": lambda: remez(
        lambda z: series(lambda z: (ln((1 + sqrt(z)) / (1 - sqrt(z))) / sqrt(z) - 2) / z, z, tiny, [mpf(2) / 3, mpf(2) / 5, mpf(2) / 7]),
        lambda z: z / 2, mpf(0), (3 - 2 * sqrt(mpf(2))) ** 2, 6),
    # 2 atanh(s) = 2 s + (2/3) s z + s z^2 W(z)
    "pow": lambda: remez(
        lambda z: series(lambda z: ((ln((1 + sqrt(z)) / (1 - sqrt(z))) / sqrt(z) - 2) / z - mpf(2) / 3) / z, z, tiny, [mpf(2) / 5, mpf(2) / 7, mpf(2) / 9]),
        lambda z: z * z / 2, mpf(0), mpf("0.06") ** 2, 4),
    "sin": lambda: remez(
        lambda z: series(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, z, tiny, [-mpf(1) / 6, mpf(1) / 120, -mpf(1) / 5040]),
        lambda z: z, mpf(0), (pi / 4 * mpf("1.0001")) ** 2, 5),
    "cos": lambda: remez(
        lambda z: series(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, z, mpf(10) ** -10, [mpf(1) / 24, -mpf(1) / 720, mpf(1) / 40320]),
        lambda z: z * z, mpf(0), (pi / 4 * mpf("1.0001")) ** 2, 5),
    "atan": lambda: remez(
        lambda z: series(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, z, tiny, [-mpf(1) / 3, mpf(1) / 5, -mpf(1) / 7]),
        lambda z: z, mpf(0), (sqrt(mpf(2)) - 1) ** 2 * mpf("1.0001"), 10),
    "asin": lambda: remez(
        lambda z: series(lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, z, tiny, [mpf(1) / 6, mpf(3) / 40, mpf(15) / 336]),
        lambda z: z, mpf(0), mpf("0.25"), 12),
    # erf(x) = x (2/sqrt(pi)) + x z E(z), z = x^2, |x| <= 1; relative to erf
    "erf": lambda: remez(
        lambda z: series(lambda z: (erf(sqrt(z)) / sqrt(z) - 2 / sqrt(pi)) / z, z, tiny, [-2 / (3 * sqrt(pi)), 1 / (5 * sqrt(pi)), -1 / (21 * sqrt(pi))]),
        lambda z: z, mpf(0), mpf(1), 10),
    # (1 + 2 a) e^(a^2) erfc(a) = G(t), t = (a - 3) / (a + 3), 0.75 <= a <= 28
    "erfc": lambda: remez(
        lambda t: (lambda a: (1 + 2 * a) * exp(a * a) * erfc(a))(3 * (1 + t) / (1 - t)),
        lambda t: mpf("0.8"), mpf("-0.6"), mpf(25) / 31, 20),
    # e^(a^2) erfc(a) = H(t), t = (a - 3) / (a + 3), 1 <= a <= 6; absolute error of erfc
    "erf_far": lambda: remez(
        lambda t: (lambda a: exp(a * a) * erfc(a))(3 * (1 + t) / (1 - t)),
        lambda t: exp(-((3 * (1 + t) / (1 - t)) ** 2)), mpf("-0.5"), mpf(1) / 3, 11),
    # ln Gamma(2 + v) = v G(v), |v| <= 1/2; relative
    "ln_gamma": lambda: remez(ln_gamma_2, lambda v: 1 / ln_gamma_2(v), mpf("-0.5"), mpf("0.5"), 18),
    # ln Gamma(x) = (x - 1/2) ln x - x + ln(2 pi)/2 + S(1/x^2)/x, x >= 7.5
    "stirling": lambda: remez(
        lambda u: mpf(1) / 12 if u < tiny else (lambda x: x * (loggamma(x) - (x - mpf(1) / 2) * ln(x) + x - ln(2 * pi) / 2))(1 / sqrt(u)),
        lambda u: mpf(1) / 56, mpf(0), 1 / mpf("7.5") ** 2, 5),
    # psi(3/2 + t) = (t - t0) D(t), |t| <= 1/2; relative
    "digamma": lambda: remez(psi_over_root, lambda t: 1 / psi_over_root(t), mpf("-0.5"), mpf("0.5"), 22),
    # psi(x) = ln x - 1/(2 x) - T(1/x^2)/x^2, x >= 8
    "digamma_far": lambda: remez(
        lambda u: mpf(1) / 12 if u < tiny else (lambda x: x * x * (ln(x) - 1 / (2 * x) - digamma(x)))(1 / sqrt(u)),
        lambda u: mpf(1) / 128, mpf(0), mpf(1) / 64, 6),
    # Gamma(2 + v) = 1 + v H(v), |v| <= 1/2; relative
    "gamma": lambda: remez(
        lambda v: 1 - euler if abs(v) < mpf(10) ** -25 else (gamma(2 + v) - 1) / v, lambda v: v / gamma(2 + v), mpf("-0.5"), mpf("0.5"), 20),
    # E1(x) = -gamma - ln x + x - x^2/4 + x^3 N(x), x <= 5/4; relative
    "e1_near": lambda: remez(
        lambda x: series(lambda x: (e1(x) + euler + ln(x) - x + x * x / 4) / x**3, x, mpf(10) ** -10, [mpf(1) / 18, -mpf(1) / 96, mpf(1) / 600]),
        lambda x: x**3 / e1(x) if x > 0 else mpf(0), mpf(0), mpf("1.25"), 11),
    # E1(x) = e^-x / (x + T(1/x)), x >= 5/4; relative
    "e1_far": lambda: quotient(
        lambda u: series(lambda u: exp(-1 / u) / e1(1 / u) - 1 / u, u, mpf(10) ** -10, [1, -1, 3]),
        lambda u: u / (1 + u * (1 + u) / (1 + 2 * u)), mpf(0), mpf("0.8"), 10, 10),
    # I0(x) = 1 + z G(z), 2 I1(x)/x = 1 + z G(z), z = x^2/4, x <= 12; relative
    "i0_near": lambda: i_near(0),
    "i1_near": lambda: i_near(1),
    # sqrt(2 pi x) e^-x I(x) = 1 + u G(t), u = 1/x, t = 24 u - 1, x >= 12; absolute
    "i0_far": lambda: i_far(0),
    "i1_far": lambda: i_far(1),
    # K0(x) = L I0(x) + z G(z), L = -ln(x/2) - gamma, z = x^2/4, x <= 1; relative to the least K0
    "k0_near": lambda: remez(lambda z: bessel_series(0, harmonic, z, 1), lambda z: z / mpf("0.42"), mpf(0), mpf("0.25"), 7),
    # K1(x) = 1/x - L I1(x) - (x/4) G(z); relative to the least K1
    "k1_near": lambda: remez(lambda z: bessel_series(1, lambda k: harmonic(k) + harmonic(k + 1), z), lambda z: sqrt(z) / mpf("1.2"), mpf(0), mpf("0.25"), 8),
    # sqrt(2 x/pi) e^x K(x) = 1 + u R(u), u = 1/x, x >= 1; absolute
    "k0_far": lambda: k_far(0),
    "k1_far": lambda: k_far(1),
    # J0(x) = 1 - z G(z), 2 J1(x)/x = 1 - z G(z), z = x^2/4, x <= 8/5; absolute
    "j0_near": lambda: j_near(0),
    "j1_near": lambda: j_near(1),
    # (pi/2) Y0(x) = -L J0(x) + z G(z), L = -ln(x/2) - gamma, z = x^2/4, x <= 8/5; absolute
    "y0_near": lambda: remez(lambda z: -bessel_series(0, lambda k: (-1) ** k * harmonic(k), z, 1), lambda z: z, mpf(0), mpf("0.65"), 8),
    # (pi/2) Y1(x) = -L J1(x) - 1/x - (x/4) G(z), x <= 8/5; absolute
    "y1_near": lambda: remez(lambda z: bessel_series(1, lambda k: (-1) ** k * (harmonic(k) + harmonic(k + 1)), z), lambda z: mpf(1), mpf(0), mpf("0.65"), 9),
    # sqrt(pi x/2) |J + iY| = 1 + u G(u), u = 1/x^2, x >= 8; absolute
    "modulus0": lambda: far(0, 0),
    "modulus1": lambda: far(1, 0),
    # arg(J + iY) = x - (nu/2 + 1/4) pi + (a + b u + u^2 G(u)) / x, u = 1/x^2, x >= 8; of G.
    # a, b = -1/8, 25/384 and 3/8, -21/128 (DLMF 10.18.18)
    "phase0": lambda: far(0, 1),
    "phase1": lambda: far(1, 1),
    # v^(-1/3), only a start
    "cbrt": lambda: remez(lambda v: v ** (-mpf(1) / 3), lambda v: v ** (mpf(1) / 3), mpf("0.3535"), mpf("2.829"), 4),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or [*JOBS, *TABLES]:
        if name in TABLES:
            print(f"{name}:", *TABLES[name](), sep="\n")
            continue
        c, worst, ideal = JOBS[name]()
        sides = c if isinstance(c[0], list) else [c]
        degree = "/".join(str(len(side) - 1) for side in sides)
        print(f"{name}: degree {degree}, error 2^{worst:.1f} (unrounded 2^{ideal:.1f})")
        for side in sides:
            print("[" + ", ".join(repr(v) for v in side) + "]")
