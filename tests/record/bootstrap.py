"""Bootstrap intervals by SciPy of the mean of a skew sample and of the slope and intercept of a line.

Usage, in this folder: python bootstrap.py > ../data/uncertainty/bootstrap.csv   (pip install scipy==1.17.1)

Rows `data` have a case, its x and its y; rows `interval` a case, the method, the level, the ends, and the standard
deviation of each end over the repetitions, of which the ends are the means.
"""

import numpy as np
import scipy
from scipy.stats import bootstrap

REPEATS, RESAMPLES = 20, 20_000


def mean(x, y, axis=-1):
    return np.mean(y, axis=axis)


def slope(x, y, axis=-1):
    xc = x - np.mean(x, axis=axis, keepdims=True)
    return np.sum(xc * y, axis=axis) / np.sum(xc * xc, axis=axis)


def intercept(x, y, axis=-1):
    return np.mean(y, axis=axis) - slope(x, y, axis) * np.mean(x, axis=axis)


random = np.random.default_rng(17)
skew = (np.arange(25.0), np.round(random.exponential(3.0, 25), 3))
x = np.round(np.sort(random.uniform(0, 10, 40)), 2)
line = (x, np.round(1 + 0.5 * x + 0.1 * x * (random.exponential(1.0, 40) - 1), 3))

print(f"# scipy {scipy.__version__}, numpy {np.__version__}")
print("row,case,a,b,c,d,e,f")
for name, (x, y) in {"skew": skew, "line": line}.items():
    for a, b in zip(x, y):
        print(f"data,{name},{float(a)!r},{float(b)!r},,,,")
for case, data, statistic in [("skew", skew, mean), ("slope", line, slope), ("intercept", line, intercept)]:
    for method in ["percentile", "BCa"]:
        for level in [0.9, 0.95]:
            ends = []
            for _ in range(REPEATS):
                found = bootstrap(data, statistic, paired=True, vectorized=True, n_resamples=RESAMPLES,
                                  confidence_level=level, method=method, rng=random, batch=1000)
                ends.append(found.confidence_interval)
            (low, high), (a, b) = np.mean(ends, axis=0), np.std(ends, axis=0, ddof=1)
            print(f"interval,{case},{method},{level!r},{float(low)!r},{float(high)!r},{float(a)!r},{float(b)!r}")
