"""Holds the converted NIST problems to NIST's certificates, in 60-digit arithmetic.

    python nist_check.py FOLDER        (needs mpmath)

For each problem: the digits to which the certified parameters reproduce the certified residual sum of
squares, residual standard deviation and standard deviations of the parameters; then the same for the
minimum itself, found by Newton's method from the certified parameters, and the certified parameters'
distance from it. Digits are -log10 of the relative error; the certificates carry 11.
"""

import re
import sys
from pathlib import Path

import mpmath as mp

from exact import newton

mp.mp.dps = 60
NAMES = {"exp": mp.exp, "ln": mp.log, "cos": mp.cos, "sin": mp.sin, "atan": mp.atan, "pi": mp.pi, "mpf": mp.mpf}


def read(path):
    """The file as a dict; numbers stay text."""
    head, data = path.read_text(encoding="ascii").split("\ndata\n")
    problem = {"parameters": []}
    for line in head.splitlines():
        key, value = line.split(" ", 1)
        if key == "parameter":
            problem["parameters"].append(value.split())
        else:
            problem[key] = value
    problem["rows"] = [[mp.mpf(number) for number in row.split()] for row in data.splitlines()]
    return problem


def digits(value, certified):
    if value == certified:
        return mp.mpf(99)
    return -mp.log10(abs(value - certified) / abs(certified))


def check(path):
    problem = read(path)
    names = [p[0] for p in problem["parameters"]]
    certified = [mp.mpf(p[3]) for p in problem["parameters"]]
    errors = [mp.mpf(p[4]) for p in problem["parameters"]]
    k = int(problem["predictors"])
    variables = ["x"] if k == 1 else [f"x{i + 1}" for i in range(k)]
    python = re.sub(r"(?<![\w.])(\d+\.?\d*)", r"mpf('\1')", problem["model"]).replace("^", "**")
    code = compile(python, path.name, "eval")
    rows = problem["rows"]
    y = [mp.log(row[-1]) if problem["transform"] == "ln" else row[-1] for row in rows]

    def value(row, p):
        return eval(code, {**NAMES, **dict(zip(variables, row)), **dict(zip(names, p))})

    def residuals(p):
        return [value(row, p) - t for row, t in zip(rows, y)]

    def jacobian(p):
        columns = []
        for j, at in enumerate(p):
            step = (abs(at) if at else mp.mpf(1)) * mp.mpf(10) ** -20  # central: error 1e-40, round-off 1e-40
            high, low = (residuals(p[:j] + [at + s] + p[j + 1:]) for s in (step, -step))
            columns.append([(h - l) / (2 * step) for h, l in zip(high, low)])
        return columns

    def gradient(p):
        r = residuals(p)
        return [mp.fdot(column, r) for column in jacobian(p)]

    def statistics(p):
        rss = mp.fsum(r * r for r in residuals(p))
        sd = mp.sqrt(rss / int(problem["dof"]))
        columns = jacobian(p)
        inverse = mp.inverse(mp.matrix([[mp.fdot(a, b) for b in columns] for a in columns]))
        return rss, sd, [sd * mp.sqrt(inverse[j, j]) for j in range(len(p))]

    def score(p):
        rss, sd, sds = statistics(p)
        return (
            digits(rss, mp.mpf(problem["rss"])),
            digits(sd, mp.mpf(problem["residual_sd"])),
            min(digits(a, b) for a, b in zip(sds, errors)),
        )

    minimum = newton(gradient, certified)
    distance = min(digits(a, b) for a, b in zip(minimum, certified))
    return problem["name"], score(certified), score(minimum), distance


def main():
    print("problem     certified: rss   sd  errors   minimum: rss   sd  errors   parameters")
    for path in sorted(Path(sys.argv[1]).glob("*.txt")):
        name, certified, minimum, distance = check(path)
        figures = [float(v) for v in (*certified, *minimum, distance)]
        print("{:10}  {:13.1f} {:5.1f} {:6.1f} {:14.1f} {:5.1f} {:6.1f} {:12.1f}".format(name, *figures), flush=True)


if __name__ == "__main__":
    main()
