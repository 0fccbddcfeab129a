"""Newton's method in mpmath's precision: the minimum to more digits than a double holds.

The Hessian comes from forward differences of the gradient with a step of 1e-20, which at 60 digits is good
to about 20: convergence is quadratic in effect. Only ever started next to a minimum.
"""

import mpmath as mp


def hessian(gradient, p, free):
    """Second derivatives by the parameters listed in `free`, at p."""
    base = gradient(p)
    rows = []
    for j in free:
        step = (abs(p[j]) if p[j] else mp.mpf(1)) * mp.mpf(10) ** -20
        moved = gradient(p[:j] + [p[j] + step] + p[j + 1:])
        rows.append([(moved[i] - base[i]) / step for i in free])
    n = len(free)
    return mp.matrix([[(rows[i][j] + rows[j][i]) / 2 for j in range(n)] for i in range(n)])


def newton(gradient, start, free=None, limit=40):
    """The zero of `gradient` next to `start` (lists of mpf); parameters not in `free` stay where they are.

    Raises ArithmeticError when 40 steps do not settle, or when the point is no minimum.
    """
    p = [mp.mpf(v) for v in start]
    free = list(range(len(p))) if free is None else free
    if not free:
        return p
    for _ in range(limit):
        g = gradient(p)
        step = mp.lu_solve(hessian(gradient, p, free), mp.matrix([g[i] for i in free]))
        for k, i in enumerate(free):
            p[i] -= step[k]
        if max(abs(step[k] / p[i]) if p[i] else abs(step[k]) for k, i in enumerate(free)) < mp.mpf(10) ** -30:
            break
    else:
        raise ArithmeticError("Newton's method did not settle")
    scale = [mp.sqrt(abs(hessian(gradient, p, [i])[0])) for i in free]
    scaled = hessian(gradient, p, free)
    for a in range(len(free)):
        for b in range(len(free)):
            scaled[a, b] /= scale[a] * scale[b]
    if min(mp.eigsy(scaled, eigvals_only=True)) <= 0:
        raise ArithmeticError("not a minimum")
    return p
