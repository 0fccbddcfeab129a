"""`Fit.bootstrap`: closed forms of linear models, SciPy's bootstrap, resampling by NumPy."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import FitError
from refusals import check_refused

stats = pytest.importorskip("scipy.stats")

pytestmark = pytest.mark.filterwarnings("error", "ignore::dualfit.NotTracedWarning")

_random = np.random.default_rng(5)
x = np.linspace(0, 4, 40)
SIGMA = 0.2 + 0.1 * x
y = 2 * x + 1 + SIGMA * _random.normal(size=40)
DESIGN = np.stack([x, np.ones(40)], axis=1)
LINE = dualfit.fit("a*x + b", x, y)


def called(x, a, b):
    """A line that cannot be recorded."""
    return np.array([a * float(t) + b for t in x]) if math.isfinite(a) else x


def spread(made: dualfit.Bootstrap) -> Any:
    return np.cov(made.params.T)


def test_residuals_are_drawn_with_their_closed_covariance() -> None:
    """For a line the covariance is v·(XᵀX)⁻¹, where v is the mean square of the drawn residuals."""
    made = LINE.bootstrap(20_000, seed=1)
    inverse = np.linalg.inv(DESIGN.T @ DESIGN)
    leverage = np.einsum("ij,jk,ik->i", DESIGN, inverse, DESIGN)
    residuals = LINE.residuals() / np.sqrt(1 - leverage)
    expected = inverse * np.mean((residuals - residuals.mean()) ** 2)
    # The relative scatter of a variance of n values is √(2/n).
    np.testing.assert_allclose(np.diag(spread(made)), np.diag(expected), rtol=5 * math.sqrt(2 / 20_000))
    np.testing.assert_allclose(made.std_errors, np.sqrt(np.diag(spread(made))), rtol=1e-9)
    np.testing.assert_allclose(made.bias, made.params.mean(axis=0) - LINE.params, rtol=1e-6, atol=1e-12)
    assert made.names == ["a", "b"] and made.errors == dict(zip("ab", made.std_errors))
    assert (len(made), made.failed, made.not_run) == (20_000, 0, 0)


def test_parametric_draws_have_the_covariance_of_the_fit() -> None:
    weighted = dualfit.fit("a*x + b", x, y, sigma=SIGMA, absolute_sigma=True)
    made = weighted.bootstrap(20_000, "parametric", seed=2)
    scaled = DESIGN / SIGMA[:, None]
    expected = np.linalg.inv(scaled.T @ scaled)
    np.testing.assert_allclose(np.diag(spread(made)), np.diag(expected), rtol=5 * math.sqrt(2 / 20_000))


def test_pairs_are_whole_points() -> None:
    """NumPy draws points and solves; both spreads have the scatter of their number of draws."""
    made = LINE.bootstrap(5000, "pairs", seed=3)
    random = np.random.default_rng(11)
    drawn = [np.linalg.lstsq(DESIGN[index], y[index])[0] for index in random.integers(0, 40, (5000, 40))]
    np.testing.assert_allclose(np.diag(spread(made)), np.diag(np.cov(np.transpose(drawn))), rtol=0.15)


def test_intervals() -> None:
    made = LINE.bootstrap(4000, "pairs", seed=3)
    values = made["a"]
    np.testing.assert_array_equal(values, made.params[:, 0])
    # The quantile of n values is at the position (n + 1)p: that of Weibull.
    expected = np.quantile(values, [0.05, 0.95], method="weibull")
    np.testing.assert_allclose(made.interval("a", 0.9, "percentile"), expected, rtol=1e-12)
    found = stats.bootstrap((x, y), lambda x, y: np.polyfit(x, y, 1)[0], paired=True, vectorized=False, n_resamples=4000,
                            method="BCa", random_state=np.random.default_rng(7))
    scatter = 5 * math.sqrt(2) * np.array(made.interval_errors("a", 0.95))
    assert (np.abs(np.subtract(made.interval("a", 0.95), tuple(found.confidence_interval))) < scatter).all()
    assert made.interval("a") == made.interval("a", 0.95, "bca")


def test_quantities() -> None:
    fit = dualfit.fit("a*exp(-b*x)", x, 2 * np.exp(-x) + 0.05 * np.sin(9 * x), [1, 1], derived={"half": "ln(2)/b"})
    made = fit.bootstrap(1000, seed=4)
    np.testing.assert_allclose(made["half"], math.log(2) / made["b"], rtol=1e-12)
    np.testing.assert_allclose(made["a*b"], made["a"] * made["b"], rtol=1e-12)
    assert made.interval("half", 0.9, "percentile") == pytest.approx(
        tuple(math.log(2) / end for end in reversed(made.interval("b", 0.9, "percentile"))), rel=1e-3)


@pytest.mark.parametrize("resample", ["residuals", "parametric"])
def test_a_function_that_is_called_has_the_same_bootstrap(resample: str) -> None:
    fit = dualfit.fit(called, x, y, [1, 1])
    made, expected = fit.bootstrap(60, resample, seed=5), LINE.bootstrap(60, resample, seed=5)
    np.testing.assert_allclose(made.params, expected.params, rtol=1e-5)
    with pytest.raises(FitError, match="use resample=\"residuals\" or \"parametric\""):
        fit.bootstrap(60, "pairs")


@pytest.mark.parametrize("resample", ["residuals", "parametric"])
@pytest.mark.parametrize("said", [{"mask": x < 3.5}, {"nan_policy": "omit"}])
def test_points_that_are_left_out_are_not_drawn(resample: str, said: dict[str, Any]) -> None:
    gaps = np.where(x < 3.5, y, np.nan if "nan_policy" in said else 99.0)
    expected = dualfit.fit("a*x + b", x[x < 3.5], y[x < 3.5]).bootstrap(50, resample, seed=6)
    for f in ("a*x + b", lambda x, a, b: a * x + b, called):
        made = dualfit.fit(f, x, gaps, [1, 1], **said).bootstrap(50, resample, seed=6)
        np.testing.assert_allclose(made.params, expected.params, rtol=1e-5)


def test_seeds_and_pickles() -> None:
    made = LINE.bootstrap(300, seed=8)
    assert made.params.tobytes() == LINE.bootstrap(300, seed=8).params.tobytes() != LINE.bootstrap(300, seed=9).params.tobytes()
    # A refit does not depend on the number of refits.
    np.testing.assert_array_equal(LINE.bootstrap(40, seed=8).params, made.params[:40])
    np.testing.assert_array_equal(LINE.bootstrap(300, seed=8, memory_limit=1).params, made.params)
    again = pickle.loads(pickle.dumps(made))
    assert again.params.tobytes() == made.params.tobytes() and again.interval("a") == made.interval("a")
    assert repr(made) == "<Bootstrap of 300 refits, 0 failed>"
    assert str(made).startswith("300 replicates of drawn residuals")


@pytest.mark.parametrize("f", ["a*x + b", called])
def test_callbacks(f: Any) -> None:
    events: list[dict[str, Any]] = []
    dualfit.fit(f, x, y, [1, 1], callback=events.append).bootstrap(30)
    batch = [event for event in events if event["kind"] == "batch"]
    assert batch[-1]["done"] == batch[-1]["total"] == 30 + 40  # The jackknife leaves out each point in turn.
    stopped = dualfit.fit(f, x, y, [1, 1], callback=lambda event: event["kind"] == "batch").bootstrap(20_000)
    assert stopped.not_run > 0 and stopped.not_run + stopped.failed + len(stopped) == 20_000
    error = LookupError("mine")

    def raises(event: dict[str, Any]) -> None:
        if event["kind"] == "batch":
            raise error

    with pytest.raises(LookupError) as caught:
        dualfit.fit(f, x, y, [1, 1], callback=raises).bootstrap(30)
    assert caught.value is error


counts = np.random.default_rng(1).poisson(30 * np.exp(-x))

REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "one refit": (lambda: LINE.bootstrap(1), FitError, "from 2 to 10,000,000"),
    "no number": (lambda: LINE.bootstrap(2.5), TypeError, "n_resamples is 2.5; give a whole number"),  # type: ignore[arg-type]
    "kind": (lambda: LINE.bootstrap(100, "cases"), ValueError, "there are \"residuals\", \"parametric\" and \"pairs\""),
    "residuals of counts": (lambda: dualfit.fit("a*exp(-b*x)", x, counts, [20, 1], poisson=True).bootstrap(100), FitError,
                            "resample=\"parametric\""),
    "not converged": (lambda: dualfit.fit("a*exp(-b*x)", x, y, [1, 1], max_evaluations=2).bootstrap(100), FitError, "did not converge"),
    "few refits": (lambda: LINE.bootstrap(50).interval("a", 0.95), FitError, "make at least 200"),
    "level": (lambda: LINE.bootstrap(50).interval("a", 95), FitError, "95"),
    "method": (lambda: LINE.bootstrap(50).interval("a", 0.5, "basic"), FitError, "there are 'BCa' and 'percentile'"),
    "name": (lambda: LINE.bootstrap(50)["q"], FitError, "no parameter `q`"),
    "saved": (lambda: dualfit.Fit.from_json(LINE.to_json()).bootstrap(50), ValueError, "kept"),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_requests(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    check_refused(call, error, words)
