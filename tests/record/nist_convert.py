"""Rewrites NIST's StRD nonlinear regression files in the compact form that the tests read.

    python nist_convert.py SOURCE_FOLDER OUTPUT_FOLDER

SOURCE_FOLDER holds NIST's 27 .dat files; one .txt per problem goes to OUTPUT_FOLDER. Numbers are copied
as text, never through a float, so that every digit of the source survives. The model is NIST's own line
with other spelling: [] as (), ** as ^, arctan as atan, log as ln. Standard library only.
"""

import re
import sys
from pathlib import Path

SOURCE = (
    "NIST/ITL Statistical Reference Datasets (StRD), Nonlinear Regression; a work of the US government, "
    "in the public domain in the USA"
)
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


def section(lines, title, stop):
    """The lines from the one that starts with `title` to the one before `stop` matches, `title` cut off."""
    first = next(i for i, line in enumerate(lines) if line.startswith(title))
    last = next(i for i in range(first + 1, len(lines)) if re.match(stop, lines[i]))
    text = [lines[first][len(title):]] + lines[first + 1:last]
    return [line.strip() for line in text if line.strip()]


def model(lines):
    """(transform of the response, right-hand side) from the Model section."""
    text = " ".join(section(lines, "Model:", r"\s*Starting [Vv]alues"))
    text = re.sub(r"\bpi = \S+", "", text)  # Roszman1 spells pi out; the expressions know it by name
    left, right = re.search(r"(log\[y\]|\by)\s*=\s*(.*?)\s*\+\s*e$", text).groups()
    for old, new in [("[", "("), ("]", ")"), ("**", "^"), ("arctan", "atan"), ("log", "ln")]:
        right = right.replace(old, new)
    right = re.sub(r"(?<![\d.])\.(?=\d)", "0.", right)  # Misra1c writes -.5
    return ("ln" if left.startswith("log") else "none"), re.sub(r"\s+", " ", right)


def figure(lines, title):
    """The number that follows `title:`."""
    line = next(line for line in lines if line.startswith(title + ":"))
    return line.split(":")[1].strip()


def convert(path):
    """The compact text of one .dat file."""
    lines = path.read_text(encoding="ascii").splitlines()
    name = re.search(r"Dataset Name:\s+(\w+)", lines[1]).group(1)
    about = section(lines, "Data:", "Model:")
    predictors = int(re.search(r"(\d+) Predictor", " ".join(about)).group(1))
    difficulty = re.search(r"(\w+) Level of Difficulty", " ".join(about)).group(1).lower()
    transform, expression = model(lines)
    parameters = [
        match.groups()
        for line in lines
        if (match := re.match(rf"\s*(b\d)\s*=\s*({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s*$", line))
    ]
    count = int(figure(lines, "Number of Observations"))
    rows = [line.split() for line in lines[60:] if line.strip()]

    promised = int(re.search(r"(\d+) Parameters", " ".join(lines)).group(1))
    assert [p[0] for p in parameters] == [f"b{i + 1}" for i in range(promised)], name
    assert len(rows) == count and all(len(row) == predictors + 1 for row in rows), name
    dof, notes = int(figure(lines, "Degrees of Freedom")), []
    if dof != count - promised:
        assert name == "Rat43", name  # prints 9 for 15 - 4; its residual standard deviation takes 11
        notes = [f"note NIST prints {dof} degrees of freedom; its own residual standard deviation takes n - p"]

    reference = re.sub(r"\s+", " ", " ".join(section(lines, "Reference:", r"Data:|$")))
    out = [
        f"name {name}",
        f"source {SOURCE}. {reference}",
        *notes,
        f"difficulty {difficulty}",
        f"predictors {predictors}",
        f"transform {transform}",
        f"model {expression}",
        *(f"parameter {' '.join(p)}" for p in parameters),
        f"rss {figure(lines, 'Residual Sum of Squares')}",
        f"residual_sd {figure(lines, 'Residual Standard Deviation')}",
        f"dof {count - promised}",
        f"n {count}",
        "data",
        *(" ".join(row[1:] + row[:1]) for row in rows),
    ]
    return name, "\n".join(out) + "\n"


def main():
    source, output = Path(sys.argv[1]), Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    paths = sorted(source.glob("*.dat"))
    assert len(paths) == 27, f"27 problems expected, {len(paths)} found"
    for path in paths:
        name, text = convert(path)
        (output / f"{name}.txt").write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
