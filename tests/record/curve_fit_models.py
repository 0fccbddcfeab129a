"""The models of the recorded fits: text, value and partials.

`value` and `partials` take a namespace `m` (numpy or mpmath), so that the fit in doubles and the exact
minimum come from the same lines. x: one entry per predictor; p: the parameters in order.
"""

from collections import namedtuple

Model = namedtuple("Model", "text parameters predictors value partials")


def decay_partials(m, x, p):
    a, b, _ = p
    e = m.exp(-b * x[0])
    return [e, -a * x[0] * e, 1 + 0 * e]


def gaussian_peak_partials(m, x, p):
    a, c, s, _ = p
    u = x[0] - c
    e = m.exp(-u**2 / (2 * s**2))
    return [e, a * e * u / s**2, a * e * u**2 / s**3, 1 + 0 * e]


def damped_sine_partials(m, x, p):
    a, d, w, q = p
    e = m.exp(-d * x[0])
    sine, cosine = m.sin(w * x[0] + q), m.cos(w * x[0] + q)
    return [e * sine, -a * x[0] * e * sine, a * x[0] * e * cosine, a * e * cosine]


def gaussian_2d_partials(m, x, p):
    a, c1, c2, s, _ = p
    u, v = x[0] - c1, x[1] - c2
    e = m.exp(-(u**2 + v**2) / (2 * s**2))
    return [e, a * e * u / s**2, a * e * v / s**2, a * e * (u**2 + v**2) / s**3, 1 + 0 * e]


def michaelis_menten_partials(m, x, p):
    v, k = p
    return [x[0] / (k + x[0]), -v * x[0] / (k + x[0]) ** 2]


def four_pl_partials(m, x, p):
    low, high, mid, slope = p
    t = (x[0] / mid) ** slope
    g = 1 / (1 + t)
    dg = -(high - low) * g**2 * t
    return [1 - g, g, -dg * slope / mid, dg * m.log(x[0] / mid)]


MODELS = {
    "decay": Model(
        "a*exp(-b*x)+c", ["a", "b", "c"], 1,
        lambda m, x, p: p[0] * m.exp(-p[1] * x[0]) + p[2], decay_partials,
    ),
    "gaussian_peak": Model(
        "a*exp(-((x-c)^2)/(2*s^2))+d", ["a", "c", "s", "d"], 1,
        lambda m, x, p: p[0] * m.exp(-((x[0] - p[1]) ** 2) / (2 * p[2] ** 2)) + p[3], gaussian_peak_partials,
    ),
    "damped_sine": Model(
        "a*exp(-d*x)*sin(w*x+q)", ["a", "d", "w", "q"], 1,
        lambda m, x, p: p[0] * m.exp(-p[1] * x[0]) * m.sin(p[2] * x[0] + p[3]), damped_sine_partials,
    ),
    "gaussian_2d": Model(
        "a*exp(-((x1-c1)^2+(x2-c2)^2)/(2*s^2))+d", ["a", "c1", "c2", "s", "d"], 2,
        lambda m, x, p: p[0] * m.exp(-((x[0] - p[1]) ** 2 + (x[1] - p[2]) ** 2) / (2 * p[3] ** 2)) + p[4],
        gaussian_2d_partials,
    ),
    "michaelis_menten": Model(
        "v*x/(k+x)", ["v", "k"], 1,
        lambda m, x, p: p[0] * x[0] / (p[1] + x[0]), michaelis_menten_partials,
    ),
    "four_pl": Model(
        "low+(high-low)/(1+(x/mid)^slope)", ["low", "high", "mid", "slope"], 1,
        lambda m, x, p: p[0] + (p[1] - p[0]) / (1 + (x[0] / p[2]) ** p[3]), four_pl_partials,
    ),
}
