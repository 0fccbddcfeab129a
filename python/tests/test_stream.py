"""`fit_stream`: fits of files that are read in chunks, with the same bits as the fit in memory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import GROUP, fit_stream, models

pytestmark = pytest.mark.filterwarnings("error")

x = np.linspace(0, 4, 3000)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.random.default_rng(7).normal(size=3000)
sigma = 0.05 + 0.02 * np.cos(x)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("points")
    np.save(place / "xy.npy", np.stack([x, y], axis=1))
    np.save(place / "columns.npy", np.asfortranarray(np.stack([x, y], axis=1)))
    np.save(place / "all.npy", np.stack([x, np.cos(x), y, sigma], axis=1))
    np.save(place / "floats.npy", np.stack([x, y], axis=1).astype("f4"))
    table = np.stack([sigma, y, x], axis=1)
    np.savetxt(place / "table.csv", table, delimiter=",", header="error,signal,time", comments="", fmt="%.17g")
    np.savetxt(place / "table.tsv", table, delimiter="\t", header="error\tsignal\ttime", comments="", fmt="%.17g")
    for k, part in enumerate(np.split(table, [1, 1500])):
        np.savetxt(place / f"part{k}.csv", part, delimiter=",", header="error,signal,time", comments="", fmt="%.17g")
        np.save(place / f"part{k}.npy", part[:, [2, 1]])
    return place


def bits(fit: dualfit.Fit) -> bytes:
    assert fit.converged, fit.message
    return fit.params.tobytes() + fit.covariance.tobytes()


MEMORY = dualfit.fit(decay, x, y, [1, 1, 0])
WEIGHTED = dualfit.fit(decay, x, y, [1, 1, 0], sigma=sigma, absolute_sigma=True)


# Kinds of files


@pytest.mark.parametrize("said", [
    {"paths": "xy.npy"},
    {"paths": "xy.npy", "x": 0, "y": 1},
    {"paths": "columns.npy"},
    {"paths": "all.npy", "x": [0], "y": 2},
    {"paths": "all.npy", "x": np.int64(0), "y": np.int64(2)},
    {"paths": "table.csv", "x": "time", "y": "signal"},
    {"paths": "table.csv", "x": 2, "y": 1},
    {"paths": "table.tsv", "x": ["time"], "y": "signal"},
    {"paths": ["part0.npy", "part1.npy", "part2.npy"]},
    {"paths": ["part0.csv", "part1.csv", "part2.csv"], "x": "time", "y": "signal"},
], ids=str)
def test_files(folder: Path, said: dict[str, Any]) -> None:
    said = dict(said)
    paths = said.pop("paths")
    paths = folder / paths if isinstance(paths, str) else [os.fspath(folder / path) for path in paths]
    fit = fit_stream(decay, paths, [1, 1, 0], **said)
    assert bits(fit) == bits(MEMORY)
    assert fit.points == 3000


def test_single_precision(folder: Path) -> None:
    fit = fit_stream(decay, folder / "floats.npy", [1, 1, 0])
    assert bits(fit) == bits(dualfit.fit(decay, x.astype("f4").astype(float), y.astype("f4"), [1, 1, 0]))


def test_priors(folder: Path) -> None:
    said: dict[str, Any] = {"sigma": 0.05, "absolute_sigma": True, "priors": {"b": (1.2, 0.01)}}
    fit = fit_stream(decay, folder / "xy.npy", [1, 1, 0], **said)
    expected = dualfit.fit(decay, x, y, [1, 1, 0], **said)
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-9)
    np.testing.assert_allclose(fit.std_errors, expected.std_errors, rtol=1e-6)
    assert abs(fit.values["b"] - MEMORY.values["b"]) > 1e-4


def test_parquet(folder: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"error": sigma, "signal": y, "time": x})
    for k, part in enumerate((table.slice(0, 1700), table.slice(1700))):
        parquet.write_table(part, folder / f"part{k}.parquet", row_group_size=400)
    paths = [folder / "part0.parquet", folder / "part1.parquet"]
    assert bits(fit_stream(decay, paths, [1, 1, 0], x="time", y="signal")) == bits(MEMORY)
    assert bits(fit_stream(decay, paths, [1, 1, 0], x=2, y=1)) == bits(MEMORY)
    with pytest.raises(ValueError, match="has no column 'q'; it has error, signal, time"):
        fit_stream(decay, paths, [1, 1, 0], x="q", y="signal")


def test_chunks() -> None:
    def chunks() -> Any:
        for part in np.array_split(np.stack([x, y]), 7, axis=1):
            yield part[0], part[1].tolist()

    assert bits(fit_stream(decay, None, [1, 1, 0], chunks=chunks)) == bits(MEMORY)
    three = fit_stream(lambda x, a, b: a * x[0] + b * x[1], None, [1, 1], x=[0, 1], y=2, sigma=3, absolute_sigma=True,
                       chunks=lambda: [(x, np.cos(x), y, sigma)])
    rows = np.stack([x, np.cos(x)])
    in_memory = dualfit.fit(lambda x, a, b: a * x[0] + b * x[1], rows, y, [1, 1], sigma=sigma, absolute_sigma=True)
    np.testing.assert_allclose(three.params, in_memory.params, rtol=1e-10)


def test_passes_over_chunks() -> None:
    passes = 0
    t = np.linspace(0, 4, 200_000)
    values = decay(t, 2.5, 1.3, 0.5) + 0.05 * np.sin(1e4 * t)

    def chunks(last: int = 10) -> Any:
        nonlocal passes
        passes += 1
        for k in range(10 if passes == 1 else last):
            yield t[k::10], values[k::10]

    fit = fit_stream(decay, None, [1, 1, 0], chunks=chunks, memory_limit=2**20)
    assert passes > 1
    np.testing.assert_allclose(fit.params, dualfit.fit(decay, t, values, [1, 1, 0]).params, rtol=1e-9)
    passes = 0
    with pytest.raises(dualfit.FitError, match="it gave 160000 points that count where it gave 200000 before"):
        fit_stream(decay, None, [1, 1, 0], chunks=lambda: chunks(8), memory_limit=2**20)


def test_what_chunks_raise_comes_through() -> None:
    error = LookupError("no more tape")

    def chunks() -> Any:
        yield x[:100], y[:100]
        raise error

    with pytest.raises(LookupError) as caught:
        fit_stream(decay, None, [1, 1, 0], chunks=chunks)
    assert caught.value is error
    with pytest.raises(ValueError, match=r"columns of the lengths \[3000, 2999\]"):
        fit_stream(decay, None, [1, 1, 0], chunks=lambda: [(x, y[1:])])
    with pytest.raises(ValueError, match=r"a chunk has 3 column\(s\), but 2 are expected: 1 of x, then y; .* say sigma=2"):
        fit_stream(decay, None, [1, 1, 0], chunks=lambda: [(x, y, y)])
    with pytest.raises(TypeError, match="chunks is a list_iterator, but points are read several times"):
        fit_stream(decay, None, [1, 1, 0], chunks=iter([(x, y)]))  # type: ignore[arg-type]
    with pytest.raises(dualfit.FitError, match="is NaN at index 0 .*; remove it, or use nan_policy=\"omit\""):
        fit_stream(decay, None, [1, 1, 0], chunks=lambda: [(x, np.nan * y)])


# Errors of the observations, gaps, models


def test_sigma(folder: Path) -> None:
    path = folder / "table.csv"
    named = fit_stream(decay, path, [1, 1, 0], x="time", y="signal", sigma="error", absolute_sigma=True)
    numbered = fit_stream(decay, path, [1, 1, 0], x=2, y=1, sigma=0, absolute_sigma=True)
    assert bits(named) == bits(numbered) == bits(WEIGHTED)
    relative = fit_stream(decay, path, [1, 1, 0], x="time", y="signal", sigma="error")
    np.testing.assert_array_equal(relative.params, WEIGHTED.params)
    for number in (0.05, np.float32(0.05)):
        one = fit_stream(decay, folder / "xy.npy", [1, 1, 0], sigma=number, absolute_sigma=True)
        expected = dualfit.fit(decay, x, y, [1, 1, 0], sigma=float(number), absolute_sigma=True)
        assert bits(one) == bits(expected)


def test_gaps(folder: Path) -> None:
    gaps = np.where(np.isin(np.arange(3000), [5, 2000]), np.nan, y)
    np.save(folder / "gaps.npy", np.stack([x, gaps], axis=1))
    with pytest.raises(dualfit.FitError, match="`y` is NaN at index 5"):
        fit_stream(decay, folder / "gaps.npy", [1, 1, 0])
    fit = fit_stream(decay, folder / "gaps.npy", [1, 1, 0], nan_policy="omit")
    assert bits(fit) == bits(dualfit.fit(decay, x, gaps, [1, 1, 0], nan_policy="omit"))
    assert fit.omitted == 2


def test_kinds_of_models(folder: Path) -> None:
    path = folder / "xy.npy"
    formula = fit_stream("a*exp(-b*x) + c", path, {"a": 1, "b": 1, "c": 0})
    np.testing.assert_allclose(formula.params, MEMORY.params, rtol=1e-9)
    library = fit_stream(models.exponential() + models.constant(), path, {"amplitude": 1, "decay": 1, "c": 0})
    np.testing.assert_allclose(library.params, MEMORY.params ** [1, -1, 1], rtol=1e-9)
    options = fit_stream(decay, path, {"a": 1, "b": 1, "c": 0.4}, fixed="c", bounds={"b": (0, 9)}, loss="huber")
    expected = dualfit.fit(decay, x, y, {"a": 1, "b": 1, "c": 0.4}, fixed="c", bounds={"b": (0, 9)}, loss="huber")
    assert bits(options) == bits(expected)


def test_several_variables(folder: Path) -> None:
    def plane(points, a, b):
        t, u = points
        return a * t + b * u

    fit = fit_stream(plane, folder / "all.npy", [1, 1], x=[0, 1], y=2)
    np.testing.assert_allclose(fit.params, np.linalg.lstsq(np.stack([x, np.cos(x)], axis=1), y)[0], rtol=1e-9)
    np.testing.assert_allclose(fit.predict([[1.0], [2.0]]), fit.params @ [1, 2], rtol=1e-12)


def test_what_comes_afterwards(folder: Path) -> None:
    fit = fit_stream(decay, folder / "xy.npy", [1, 1, 0])
    np.testing.assert_array_equal(fit.predict([1.0, 2.0]), MEMORY.predict([1.0, 2.0]))
    np.testing.assert_array_equal(fit.confidence_band([1.0, 2.0]).upper, MEMORY.confidence_band([1.0, 2.0]).upper)
    assert fit.propagate("ln(2)/b") == MEMORY.propagate("ln(2)/b")
    for ask in (fit.predict, fit.residuals, fit.diagnostics, lambda: fit.profile("a"), fit.confidence_band):
        with pytest.raises(ValueError, match="the data are not with this fit"):
            ask()


# The same bits for every way of reading the points


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dualfit.Fit]:
    """Return a file with more points than two groups, and the fit of these points in memory."""
    t = np.linspace(0, 4, 2 * GROUP + 17)
    values = decay(t, 2.5, 1.3, 0.5) + 0.05 * np.sin(1e4 * t**2)
    path = tmp_path_factory.mktemp("many") / "many.npy"
    np.save(path, np.stack([t, values], axis=1))
    return path, dualfit.fit(decay, t, values, [2, 1, 0])


@pytest.mark.parametrize("points", [GROUP - 1, GROUP, GROUP + 1, 777, 10 * GROUP])
def test_sizes_of_chunks(many: tuple[Path, dualfit.Fit], points: int) -> None:
    fit = fit_stream(decay, many[0], [2, 1, 0], chunk_points=points)
    assert bits(fit) == bits(fit_stream(decay, many[0], [2, 1, 0]))
    # With this many points, a sample is fitted first; the fit in memory uses another sample.
    np.testing.assert_allclose(fit.params, many[1].params, rtol=1e-11)
    np.testing.assert_allclose(fit.std_errors, many[1].std_errors, rtol=1e-9)


def test_chunks_of_one_point(folder: Path) -> None:
    assert bits(fit_stream(decay, folder / "xy.npy", [1, 1, 0], chunk_points=1)) == bits(MEMORY)


def test_little_memory(many: tuple[Path, dualfit.Fit]) -> None:
    fit = fit_stream(decay, many[0], [2, 1, 0], memory_limit=2**20)
    np.testing.assert_allclose(fit.params, many[1].params, rtol=1e-11)
    with pytest.raises(dualfit.FitError, match="memory_limit is 100 bytes; raise it"):
        fit_stream(decay, many[0], [2, 1, 0], memory_limit=100)


# Interrupted and resumed fits


class Stopped(Exception):
    pass


def test_checkpoint(many: tuple[Path, dualfit.Fit], tmp_path: Path) -> None:
    path, place = many[0], tmp_path / "checkpoint"

    def in_the_last_pass(event: dict[str, Any]) -> None:
        if event.get("pass") == whole.stats["passes"] and event["done"] > GROUP:
            raise Stopped

    whole = fit_stream(decay, path, [9, 9, 9], memory_limit=2**22)
    assert whole.stats["passes"] > 2
    with pytest.raises(Stopped):
        fit_stream(decay, path, [9, 9, 9], memory_limit=2**22, checkpoint=place, callback=in_the_last_pass)
    assert place.exists()
    with pytest.raises(dualfit.FitError, match="checkpoint"):
        fit_stream(lambda x, a, b: a * x + b, path, [1, 1], checkpoint=place)
    done: list[tuple[int, int]] = []
    fit = fit_stream(decay, path, [9, 9, 9], memory_limit=2**22, checkpoint=place,
                     callback=lambda event: done.append((event["pass"], event["done"])) if event["kind"] == "stream" else None)
    assert bits(fit) == bits(whole)
    # The interrupted pass resumes at its position, with the same number.
    assert done[0][0] == whole.stats["passes"] and done[0][1] > GROUP and fit.stats["passes"] == 1
    assert not place.exists()


def test_a_fit_whose_checkpoint_was_removed_begins_anew(many: tuple[Path, dualfit.Fit], tmp_path: Path) -> None:
    path, place = many[0], tmp_path / "checkpoint"

    def in_the_third_pass(event: dict[str, Any]) -> None:
        if event.get("pass") == 3:
            raise Stopped

    with pytest.raises(Stopped):
        fit_stream(decay, path, [9, 9, 9], memory_limit=2**22, checkpoint=place, callback=in_the_third_pass)
    older = tmp_path / "checkpoint.1"
    assert older.exists()
    # The message names both files and both models; it does not print numbers in their place.
    with pytest.raises(dualfit.FitError, match=rf"belongs to another fit \(model: .* there, .* here\).*{re.escape(str(older))}"):
        fit_stream(lambda x, a, b: a * x + b, path, [1, 1], checkpoint=place)
    place.unlink()
    fit = fit_stream(decay, path, [9, 9, 9], memory_limit=2**22, checkpoint=place)
    assert fit.stats["passes"] == fit_stream(decay, path, [9, 9, 9], memory_limit=2**22).stats["passes"]
    assert not older.exists()


def test_checkpoints_that_cannot_be_used(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"hello")
    with pytest.raises(dualfit.FitError, match="it does not begin as a checkpoint does"):
        fit_stream(decay, folder / "xy.npy", [1, 1, 0], checkpoint=tmp_path / "other")
    with pytest.raises(dualfit.FitError, match="cannot be written"):
        fit_stream(decay, folder / "xy.npy", [1, 1, 0], checkpoint=tmp_path / "no" / "such")


# Unsupported models, invalid arguments, and damaged files


@pytest.mark.parametrize("f", [
    lambda x, a, b: a * x / x.max() + b,
    lambda x, a, b: a * (x - np.mean(x)) + b,
    lambda x, a, b: a * x / len(x) + b,
    lambda x, a, b: a * x / x.size + b,
    lambda x, a, b: a * (x - x[0]) + b,
    lambda x, a, b: a * x + b * np.sum(x),
    lambda x, a, b: a * x[1:].mean() + b * x,
])
def test_functions_that_ask_for_something_of_all_points(folder: Path, f: Any) -> None:
    with pytest.raises(dualfit.NotTraceable, match="of all points together") as caught:
        fit_stream(f, folder / "xy.npy", [1, 1])
    assert "test_stream.py, line" in str(caught.value)
    assert "compute it before" in str(caught.value)


@pytest.mark.parametrize(("said", "kind", "words"), [
    ({"paths": "missing.npy"}, OSError, "missing.npy: it cannot be opened"),
    ({"paths": ["xy.npy", "missing.npy"]}, OSError, "missing.npy: it cannot be opened"),
    ({"paths": []}, ValueError, "give at least one file"),
    ({"paths": "xy.what"}, ValueError, "is no file that can be read as a stream"),
    ({"paths": "table.csv", "x": "q", "y": "signal"}, OSError, "there is no column `q`; there are: `error`, `signal`, `time`"),
    ({"paths": "table.csv", "x": 0, "y": 7}, OSError, "there is no column 7"),
    ({"paths": "table.csv", "x": 0, "y": -1}, ValueError, "the numbers of all, from 0 on"),
    ({"paths": "table.csv", "x": 2, "y": "signal"}, ValueError, "the names of all, or the numbers of all"),
    ({"paths": "xy.npy", "x": "q", "y": "r"}, OSError, "there is no column `q`"),
    ({"paths": "xy.npy", "x": 0}, ValueError, "name the columns of x and that of y"),
    ({"paths": "xy.npy", "sigma": 1}, ValueError, "if sigma names a column, name the columns of x and y too"),
    ({"paths": "xy.npy", "sigma": 0.0}, ValueError, "sigma is 0"),
    ({"paths": "xy.npy", "sigma": np.ones(3)}, ValueError, "sigma is an array; for a stream give one number"),
    ({"paths": "xy.npy", "nan_policy": "drop"}, ValueError, "there are 'raise' and 'omit'"),
    ({"paths": "xy.npy", "chunk_points": 0}, ValueError, "a chunk has at least one point"),
    ({"paths": "xy.npy", "chunk_points": -5}, ValueError, "a chunk has at least one point"),
    ({"paths": "xy.npy", "nonsense": 1}, TypeError, "there is no option 'nonsense'"),
    ({"paths": "xy.npy", "chunks": list}, ValueError, "give files, or a function that gives chunks"),
    ({"paths": None}, ValueError, "give files, or a function that gives chunks"),
    ({"paths": "xy.npy", "p0": None, "search": "never"}, ValueError, "no start is known for b"),
], ids=str)
def test_errors(folder: Path, said: dict[str, Any], kind: type[Exception], words: str) -> None:
    given = {"p0": [1, 1, 0], **said}
    paths = given.pop("paths")
    paths = folder / paths if isinstance(paths, str) else paths and [folder / path for path in paths]
    with pytest.raises(kind, match=words):
        fit_stream(decay, paths, **given)


@pytest.mark.parametrize(("name", "content", "words"), [
    ("a.npy", b"hello", "no array file of NumPy"),
    ("b.npy", None, "cut short"),
    ("c.csv", b"", "it is empty"),
    ("d.csv", b"a,b\n1,2\n3,x\n", '"x" in column "b" is no number'),
], ids=["no npy", "cut npy", "empty csv", "text in csv"])
def test_damaged_files(folder: Path, tmp_path: Path, name: str, content: bytes | None, words: str) -> None:
    path = tmp_path / name
    path.write_bytes((folder / "xy.npy").read_bytes()[:5000] if content is None else content)
    with pytest.raises((OSError, dualfit.FitError), match=words):
        fit_stream(decay, path, [1, 1, 0])
