"""Distributed fits: the same bits for every division of the points, and clear error messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import GROUP, Part, fit_parts, fit_stream, merge, models

pytestmark = pytest.mark.filterwarnings("error")

TOTAL = 2 * GROUP + 17
x = np.linspace(0, 4, TOTAL)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(1e4 * x**2)
START = [2, 1, 0]


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def bits(fit: dualfit.Fit) -> bytes:
    assert fit.converged, fit.message
    return fit.params.tobytes() + fit.covariance.tobytes()


def asking(parts: Sequence[Part]) -> Callable[[bytes], bytes]:
    return lambda question: merge(part.answer(question) for part in parts)


def divided(*ends: int, total: int = TOTAL, **said: Any) -> dualfit.Fit:
    """Fit parts that are divided at these indices."""
    cuts = [0, *ends, total]
    parts = [Part(decay, x[a:b], y[a:b], a, **said) for a, b in zip(cuts, cuts[1:])]
    return fit_parts(decay, asking(parts), START)


# Few points, all in one part
FEW = slice(0, TOTAL, 700)
u, v = np.ascontiguousarray(x[FEW]), np.ascontiguousarray(y[FEW])
PART = Part(decay, u, v)


def test_the_bits_do_not_depend_on_who_holds_what() -> None:
    whole = bits(divided())
    assert bits(divided(GROUP)) == whole
    assert bits(divided(2 * GROUP)) == whole
    assert bits(divided(GROUP, 2 * GROUP)) == whole
    parts = [Part(decay, x[a:b], y[a:b], a) for a, b in Part.share(TOTAL, 5)]
    assert bits(fit_parts(decay, asking(parts), START)) == whole


@pytest.mark.parametrize("total", [GROUP - 1, GROUP, GROUP + 1, 2 * GROUP])
def test_ends_at_and_beside_the_borders_of_groups(total: int) -> None:
    fit = divided(*[GROUP][: total > GROUP], total=total)
    assert bits(fit) == bits(divided(total=total))
    assert fit.points == total
    stream = fit_stream(decay, None, START, chunks=lambda: [(x[:total], y[:total])])
    np.testing.assert_allclose(fit.params, stream.params, rtol=1e-11)
    np.testing.assert_allclose(fit.std_errors, stream.std_errors, rtol=1e-7)


@pytest.mark.parametrize("first", [GROUP - 1, GROUP + 1, 1, -GROUP, -1])
def test_parts_that_do_not_begin_at_a_group(first: int) -> None:
    with pytest.raises(dualfit.FitError, match=f"first is {first}; parts begin at multiples of {GROUP}"):
        Part(decay, u, v, first)


def test_parts_of_files(tmp_path: Path) -> None:
    np.save(tmp_path / "first.npy", np.stack([x[:GROUP], y[:GROUP]], axis=1))
    np.savetxt(tmp_path / "second.csv", np.stack([y[GROUP:2 * GROUP:64], x[GROUP:2 * GROUP:64]], axis=1), fmt="%.17g",
               delimiter=",", header="v,u", comments="")
    parts = [Part(decay, paths=tmp_path / "first.npy"),
             Part(decay, paths=[tmp_path / "second.csv"], columns={"x": "u", "y": "v"}, first=GROUP)]
    fit = fit_parts(decay, asking(parts), START)
    held = [Part(decay, x[:GROUP], y[:GROUP]), Part(decay, x[GROUP:2 * GROUP:64], y[GROUP:2 * GROUP:64], GROUP)]
    assert bits(fit) == bits(fit_parts(decay, asking(held), START))
    with pytest.raises(OSError, match="missing.npy: it cannot be opened"):
        fit_parts(decay, Part(decay, paths=tmp_path / "missing.npy").answer, START)


def test_share() -> None:
    assert Part.share(TOTAL, 2) == [(0, GROUP), (GROUP, TOTAL)]
    assert Part.share(10 * GROUP, 3) == [(0, 3 * GROUP), (3 * GROUP, 6 * GROUP), (6 * GROUP, 10 * GROUP)]
    assert Part.share(5, 3) == [(0, 0), (0, 0), (0, 5)]
    assert Part.share(0, 2) == [(0, 0), (0, 0)]
    for points, parts in [(5, 0), (-5, 2), (5, -1)]:
        with pytest.raises(ValueError, match=f"{points} points cannot be divided into {parts} parts"):
            Part.share(points, parts)


# Options and kinds of models


def test_sigma_gaps_and_options() -> None:
    sigma = 0.05 + 0.02 * np.cos(u)
    for said in ({"sigma": sigma}, {"sigma": 0.05}, {}):
        part = Part(decay, u, v, absolute_sigma=True, **said)
        expected = dualfit.fit(decay, u, v, START, absolute_sigma=True, **said)
        assert bits(fit_parts(decay, part.answer, START)) == bits(expected)
    gaps = np.where(np.arange(u.size) == 9, np.nan, v)
    omitted = fit_parts(decay, Part(decay, u, gaps, nan_policy="omit").answer, START)
    assert bits(omitted) == bits(dualfit.fit(decay, u, gaps, START, nan_policy="omit"))
    assert omitted.omitted == 1
    for said in ({"fixed": "c"}, {"bounds": {"b": (0, 1.2)}}, {"loss": "huber", "loss_scale": 0.05}, {"fixed": ["a", "b"]}):
        fit = fit_parts(decay, Part(decay, u, v, **said).answer, {"a": 2, "b": 1, "c": 0.4}, **said)
        np.testing.assert_array_equal(fit.params, dualfit.fit(decay, u, v, {"a": 2, "b": 1, "c": 0.4}, **said).params)


def test_priors() -> None:
    known: dict[str, Any] = {"sigma": 0.05, "absolute_sigma": True}
    prior = {"priors": {"b": (1.2, 0.01)}}
    fit = fit_parts(decay, Part(decay, u, v, **known, **prior).answer, START, **prior)
    expected = dualfit.fit(decay, u, v, START, **known, **prior)
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-9)
    np.testing.assert_allclose(fit.std_errors, expected.std_errors, rtol=1e-6)


def test_kinds_of_models() -> None:
    library = models.exponential() + models.constant()
    fit = fit_parts(library, Part(library, u, v).answer, {"amplitude": 1, "decay": 1, "c": 0})
    np.testing.assert_allclose(fit.params, dualfit.fit(decay, u, v, START).params ** [1, -1, 1], rtol=1e-9)
    formula = fit_parts("a*exp(-b*x) + c", Part("a*exp(-b*x) + c", u, v).answer, {"a": 1, "b": 1, "c": 0})
    np.testing.assert_allclose(formula.params, dualfit.fit(decay, u, v, START).params, rtol=1e-9)

    def plane(points, *p):
        return p[0] * points[0] + p[1] * points[1]

    part = Part(plane, [u, np.cos(u)], v, p0=[1, 1])
    fit = fit_parts(plane, part.answer, [1, 1], variables=2)
    np.testing.assert_allclose(fit.params, np.linalg.lstsq(np.stack([u, np.cos(u)], axis=1), v)[0], rtol=1e-9)


def test_what_comes_afterwards() -> None:
    fit, memory = fit_parts(decay, PART.answer, START), dualfit.fit(decay, u, v, START)
    assert bits(fit) == bits(memory)
    np.testing.assert_array_equal(fit.confidence_band([1.0, 2.0]).upper, memory.confidence_band([1.0, 2.0]).upper)
    with pytest.raises(ValueError, match="the data are not with this fit"):
        fit.residuals()


def test_checkpoint(tmp_path: Path) -> None:
    place, asked = tmp_path / "checkpoint", 0

    def breaks(question: bytes) -> bytes:
        nonlocal asked
        asked += 1
        if asked == 4:
            raise ConnectionError("the cable")
        return PART.answer(question)

    def goes_on(question: bytes) -> bytes:
        nonlocal again
        again += 1
        return PART.answer(question)

    with pytest.raises(ConnectionError):
        fit_parts(decay, breaks, [9, 9, 9], checkpoint=place)
    again = 0
    fit = fit_parts(decay, goes_on, [9, 9, 9], checkpoint=place)
    assert bits(fit) == bits(fit_parts(decay, PART.answer, [9, 9, 9]))
    assert again <= fit.stats["passes"] + 1
    assert not place.exists()


# Errors


class Base(BaseException):
    pass


@pytest.mark.parametrize("error", [LookupError("mine"), ConnectionError("mine"), Base("mine"), SystemExit(3),
                                   dualfit.FitError("mine")], ids=repr)
def test_what_ask_raises_comes_through(error: BaseException) -> None:
    def ask(question: bytes) -> bytes:
        raise error

    with pytest.raises(type(error)) as caught:
        fit_parts(decay, ask, START)
    assert caught.value is error


@pytest.mark.parametrize("answer", [b"", b"hello", bytes(1000), b"\xff" * 100], ids=["none", "text", "zeros", "ones"])
def test_answers_that_are_none(answer: bytes) -> None:
    with pytest.raises(dualfit.FitError, match="its contents are damaged|left over"):
        fit_parts(decay, lambda question: answer, START)


@pytest.mark.parametrize("answer", [None, 3, "text", [1, "a"]], ids=repr)
def test_answers_of_other_types(answer: Any) -> None:
    with pytest.raises(TypeError):
        fit_parts(decay, lambda question: answer, START)


def test_damaged_answers() -> None:
    questions: list[bytes] = []

    def ask(question: bytes) -> bytes:
        questions.append(question)
        return PART.answer(question)

    fit_parts(decay, ask, START)
    for question in questions:
        answer = PART.answer(question)
        for length in range(0, len(answer), 7):
            with pytest.raises(dualfit.FitError, match="no answer"):
                merge([answer[:length] or b"\0", answer])
    for question in (b"", b"hello", bytes(100), questions[0][:-1], questions[0] + b"\0"):
        with pytest.raises(dualfit.FitError, match="no question"):
            PART.answer(question)
    for question in ("text", None, 3):
        with pytest.raises(TypeError):
            PART.answer(question)


def test_parts_in_disorder() -> None:
    first, second = Part(decay, x[:GROUP], y[:GROUP]), Part(decay, x[GROUP:], y[GROUP:], GROUP)
    with pytest.raises(dualfit.FitError, match=f"points {GROUP}..{TOTAL} are followed by points 0..{GROUP}"):
        fit_parts(decay, asking([second, first]), START)
    with pytest.raises(dualfit.FitError, match=f"points 0..{GROUP} are followed by points 0..{GROUP}"):
        fit_parts(decay, asking([first, first]), START)
    with pytest.raises(dualfit.FitError, match=f"the first {GROUP} points are missing"):
        fit_parts(decay, second.answer, START)
    gap = Part(decay, u, v, 3 * GROUP)
    with pytest.raises(dualfit.FitError, match="are followed by points"):
        fit_parts(decay, asking([first, gap]), START)


def test_parts_without_points() -> None:
    none = Part(decay, u[:0], v[:0])
    assert none.answer(b"") == b""
    assert bits(fit_parts(decay, asking([none, PART, none]), START)) == bits(fit_parts(decay, PART.answer, START))
    with pytest.raises(ValueError, match="no part has points"):
        fit_parts(decay, asking([none]), START)
    with pytest.raises(ValueError, match="no part has points"):
        merge([])


@pytest.mark.parametrize(("f", "start", "words"), [
    (lambda x, a, b, c: a * np.exp(-b * x) + 2 * c, START, r"\(model: v\d+ = c \* 2\.0 at the leader, v\d+ = .* at the part\)"),
    (lambda x, a, b: a * np.exp(-b * x), [2, 1], "parameters: a, b at the leader, a, b, c at the part"),
])
def test_parts_of_another_model(f: Any, start: list[float], words: str) -> None:
    with pytest.raises(dualfit.FitError, match="^the part that begins at point 0 has another model than the leader") as caught:
        fit_parts(f, PART.answer, start)
    assert re.search(words, str(caught.value))
    with pytest.raises(dualfit.FitError, match="free parameters: b, c at the leader, a, b, c at the part"):
        fit_parts(decay, PART.answer, START, fixed="a")


def test_points_that_are_no_numbers_have_their_place_among_all() -> None:
    first = Part(decay, x[:GROUP], y[:GROUP])
    second = Part(decay, u, np.where(np.arange(u.size) == 5, np.nan, v), GROUP)
    with pytest.raises(dualfit.FitError, match=f"`y` is NaN at index {GROUP + 5}"):
        fit_parts(decay, asking([first, second]), START)


@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda: Part(decay), ValueError, "give x and y, or paths"),
    (lambda: Part(decay, u), ValueError, "give x and y, or paths"),
    (lambda: Part(decay, u, v, nan_policy="drop"), ValueError, "there are 'raise' and 'omit'"),
    (lambda: Part(decay, u, v, sigma=-1.0), ValueError, "sigma is -1"),
    (lambda: Part(decay, u, v, nonsense=1), TypeError, "there is no option 'nonsense'"),
    (lambda: Part(lambda x, a: a * x / x.max(), u, v), dualfit.NotTraceable, "of all points together"),
    (lambda: Part(lambda x, a: a * x if a > 0 else x, u, v), dualfit.NotTraceable, "a branch on a value"),
    (lambda: fit_parts(decay, Part(decay, u, v[1:]).answer, START), ValueError, "values but"),
    (lambda: fit_parts(decay, PART.answer, [1, 1]), ValueError, "p0 has 2 value"),
    (lambda: fit_parts(lambda x, *p: p[0] * x, PART.answer), ValueError, "how many parameters"),
    (lambda: fit_parts(decay, 3, START), TypeError, "not callable"),
], ids=lambda part: part if isinstance(part, str) else getattr(part, "__name__", None))
def test_errors(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_absolute_sigma_alone_says_that_it_is_one_in_every_entry() -> None:
    """pcov is not scaled, as in SciPy."""
    _, covariance = dualfit.curve_fit(decay, x, y, START, absolute_sigma=True)
    expected = np.sqrt(np.diag(covariance))
    alone = dualfit.fit(decay, x, y, START, absolute_sigma=True).std_errors
    stream = fit_stream(decay, None, START, chunks=lambda: iter([(x, y)]), absolute_sigma=True).std_errors
    parts = divided(GROUP, absolute_sigma=True).std_errors
    batch = dualfit.fit_batch(decay, x, [y], START, absolute_sigma=True).std_errors[0]
    for found in (alone, stream, parts, batch):
        np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert (expected > 10 * dualfit.fit(decay, x, y, START).std_errors).all()
