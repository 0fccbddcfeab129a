"""Methods of results, and saved results: curves, diagnostics, pickles, JSON, tables, plots."""

from __future__ import annotations

import copy
import pickle
import warnings
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import models

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(9 * x)
at = np.linspace(0.5, 6, 7)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def with_columns(x, a, b):
    """A function whose program has the columns sin² and x³ instead of x."""
    return a * np.sin(x) ** 2 + b * x**3


def of_table(d, a, b):
    return a * np.sqrt(d["u"]) + b * d["v"]


def branching(x, a, b, c):
    return decay(x, a, b, c) if a > -99 else x


FIT = dualfit.fit(decay, x, y, [1, 1, 1])


# The curve


def test_predict() -> None:
    np.testing.assert_array_equal(FIT.predict(), decay(x, *FIT.params))
    np.testing.assert_array_equal(FIT.predict(at), decay(at, *FIT.params))
    np.testing.assert_array_equal(FIT.predict([1, 2]), decay(np.array([1.0, 2.0]), *FIT.params))
    np.testing.assert_array_equal(FIT(at), FIT.predict(at))
    np.testing.assert_array_equal(FIT.best_fit, FIT.predict())
    constant = dualfit.fit(lambda x, a: a, x, y, [1])
    np.testing.assert_allclose(constant.predict(), np.full(50, y.mean()), rtol=1e-12)


def test_residuals_are_above_the_curve_where_they_are_positive() -> None:
    np.testing.assert_array_equal(FIT.residuals(), y - FIT.predict())
    np.testing.assert_allclose(FIT.residuals(), FIT.diagnostics()["residuals"], atol=1e-14)
    lifted = dualfit.fit(lambda x, a: a + 0 * x, [0.0, 1, 2], [0.0, 0, 3])
    np.testing.assert_allclose(lifted.residuals(), [-1, -1, 2], atol=1e-12)


def test_diagnostics_of_a_straight_line() -> None:
    fit = dualfit.fit(lambda x, a, b: a * x + b, x, y)
    found = fit.diagnostics()
    leverage = 1 / 50 + (x - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2)
    residuals = fit.residuals()
    variance = residuals @ residuals / 48
    standardized = residuals / np.sqrt(variance * (1 - leverage))
    np.testing.assert_allclose(found["leverage"], leverage, rtol=1e-10)
    np.testing.assert_allclose(found["standardized"], standardized, rtol=1e-9)
    np.testing.assert_allclose(found["cooks_distance"], standardized**2 * leverage / (1 - leverage) / 2, rtol=1e-9)
    without = (variance * 48 - residuals**2 / (1 - leverage)) / 47
    np.testing.assert_allclose(found["studentized"], residuals / np.sqrt(without * (1 - leverage)), rtol=1e-9)
    assert found["durbin_watson"] == pytest.approx(np.sum(np.diff(residuals) ** 2) / np.sum(residuals**2), rel=1e-9)
    assert 0 <= found["runs_p_value"] <= 1


def test_components() -> None:
    spectrum = models.gaussian("g_") + models.linear("l_")
    fit = spectrum.fit(x, np.exp(-((x - 2) ** 2)) + x + 0.01 * np.sin(9 * x))
    peak, line = fit.components()
    assert (peak.name, line.name) == ("g_", "l_")
    np.testing.assert_allclose(peak.values + line.values, fit.predict(), rtol=1e-12)
    np.testing.assert_allclose(line.values, fit.values["l_slope"] * x + fit.values["l_intercept"], rtol=1e-12)
    slope, intercept = fit.covariance[3:, 3:], x
    expected = slope[0, 0] * intercept**2 + 2 * slope[0, 1] * intercept + slope[1, 1]
    np.testing.assert_allclose(line.std_errors**2, expected, rtol=1e-8)
    assert [part.values.size for part in fit.components(at)] == [7, 7]
    assert set(fit.derived) == {"g_fwhm", "g_height"}
    assert FIT.components() == []


# Pickles


def fits() -> dict[str, dualfit.Fit]:
    u, v = x + 1, np.cos(x)
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"u": u, "v": v})
    return {
        "function": FIT,
        "lambda": dualfit.fit(lambda x, a, b, c: decay(x, a, b, c), x, y, [1, 1, 1]),
        "columns": dualfit.fit(with_columns, x, y, [1, 1]),
        "lambda with columns": dualfit.fit(lambda x, a, b: with_columns(x, a, b), x, y, [1, 1]),
        "rows": dualfit.fit(lambda p, a, b: a * p[0] ** 2 + b * p[1], np.stack([u, v]), y, [1, 1]),
        "formula": dualfit.fit("a*exp(-b*x) + c", x, y, {"b": 1}),
        "library": (models.exponential("e_") + models.constant("c_")).fit(x, y),
        "weighted": dualfit.fit(decay, x, y, [1, 1, 1], sigma=0.05 + 0.02 * v, absolute_sigma=True, mask=x < 3,
                                derived={"half": "ln(2)/b"}, bounds={"b": (0, 1.2)}),
        "errors of x": dualfit.fit(lambda x, a, b, c: decay(x, a, b, c), x, y, [1, 1, 1], sigma=0.05, x_sigma=0.1),
        "table": dualfit.fit(of_table, table, y, [1, 1]),
    }


FITS = ["function", "lambda", "columns", "lambda with columns", "rows", "formula", "library", "weighted", "errors of x",
        "table"]


def points_of(name: str) -> Any:
    if name == "rows":
        return np.stack([at + 1, np.cos(at)])
    return pytest.importorskip("pandas").DataFrame({"u": at + 1, "v": np.cos(at)}) if name == "table" else at


@pytest.mark.parametrize("name", FITS)
def test_pickles(name: str) -> None:
    fit = fits()[name]
    for again in (pickle.loads(pickle.dumps(fit)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(fit)))),
                  copy.deepcopy(fit)):
        assert str(again) == str(fit)
        assert (again.names, again.message, again.warnings, again.at_bound) == (
            fit.names, fit.message, fit.warnings, fit.at_bound)
        np.testing.assert_array_equal(again.params, fit.params)
        np.testing.assert_array_equal(again.covariance, fit.covariance)
        assert again.statistics == fit.statistics
        np.testing.assert_allclose(again.predict(), fit.predict(), rtol=1e-12)
        np.testing.assert_allclose(again.residuals(), fit.residuals(), atol=1e-12)
        np.testing.assert_allclose(again.confidence_band().upper, fit.confidence_band().upper, rtol=1e-12)
        new = points_of(name)
        np.testing.assert_allclose(again.predict(new), fit.predict(new), rtol=1e-12)
        np.testing.assert_allclose(again.confidence_band(new).std_errors, fit.confidence_band(new).std_errors, rtol=1e-9)
        if name != "errors of x":
            np.testing.assert_allclose(again.diagnostics()["leverage"], fit.diagnostics()["leverage"], rtol=1e-9)
        with pytest.raises(ValueError, match="is not fitted again"):
            again.profile(fit.names[0])


@pytest.mark.parametrize("name", [name for name in FITS if name != "table"])
def test_json(name: str) -> None:
    fit = fits()[name]
    again = dualfit.Fit.from_json(fit.to_json())
    assert str(again) == str(fit)
    new = points_of(name)
    np.testing.assert_allclose(again.predict(new), fit.predict(new), rtol=1e-12)
    np.testing.assert_allclose(again.confidence_band(new).std_errors, fit.confidence_band(new).std_errors, rtol=1e-9)
    assert again.propagate(fit.names[0]) == fit.propagate(fit.names[0])
    assert dualfit.Fit.from_json(again.to_json()).to_json() == again.to_json()
    with pytest.raises(ValueError, match="the data are not with this fit"):
        again.predict()


def test_json_of_a_function_that_is_no_program_over_x() -> None:
    """The function uses columns by name or all points together, or it is called directly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dualfit.NotTracedWarning)
        kept = [fits()["table"], dualfit.fit(lambda x, a, b: a * x / x.max() + b * x**2, x, y, [1, 1]),
                dualfit.fit(branching, x, y, [1, 1, 1])]
    for fit in kept:
        again = dualfit.Fit.from_json(fit.to_json())
        assert str(again) == str(fit)
        with pytest.raises(ValueError, match="without its model"):
            again.predict(at)


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
def test_pickles_of_functions_that_are_called_as_they_are() -> None:
    fit = dualfit.fit(branching, x, y, [1, 1, 1])
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.predict(at), fit.predict(at))
    nameless = pickle.loads(pickle.dumps(dualfit.fit(lambda x, a, b, c: branching(x, a, b, c), x, y, [1, 1, 1])))
    assert str(nameless).splitlines()[:6] == str(fit).splitlines()[:6]
    # The function was pickled with the fit, and the band belongs to this function.
    np.testing.assert_allclose(again.confidence_band(at).std_errors, fit.confidence_band(at).std_errors, rtol=1e-5)
    for ask in (nameless.predict, nameless.confidence_band):
        with pytest.raises(ValueError, match="function is not with this fit|without its model"):
            ask(at)
    with pytest.raises(ValueError, match="the data are not with this fit"):
        again.diagnostics()


@pytest.mark.parametrize("text", ["", "{", "{}", '{"version": 99}', "[1, 2]", "null"])
def test_json_that_is_no_fit(text: str) -> None:
    with pytest.raises(dualfit.FitError, match="the saved fit cannot be read|version"):
        dualfit.Fit.from_json(text)


# Tables and pictures


class Tags(HTMLParser):
    """Parser that stores the open elements, and checks that each is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_well_formed() -> None:
    nameless = dualfit.Model(lambda x, *p: p[0] * x + p[1] * p[0], ["a", "c"]).fit(x, y, [1, 1], derived={"<a> & b": "a*c"})
    for shown in (FIT, nameless, dualfit.fit(lambda x, a, b: a * b * x, x, y, [1, 1]),
                  dualfit.fit_batch(decay, x, np.stack([y, y]), [1, 1, 1])):
        tags = Tags()
        tags.feed(shown._repr_html_())
        tags.close()
        assert tags.open == []
        assert len(tags.text) > 50
    assert "50 points" in FIT._repr_html_()
    assert "<a>" not in nameless._repr_html_()


def test_latex_is_a_table() -> None:
    text = FIT.latex()
    assert text.startswith(r"\begin{tabular}")
    assert "$b$" in text
    assert dualfit.Model(decay).latex() == r"f(x) = a \exp(-b x) + c"


@pytest.fixture
def axes() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_plot(axes: Any) -> None:
    assert FIT.plot(axes) is axes
    assert (len(axes.lines), len(axes.collections)) == (2, 1)
    points, curve = axes.lines
    np.testing.assert_array_equal(points.get_ydata(), y)
    assert curve.get_xdata().size == 400
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["data", "95 % confidence", "fit"]


def test_plot_without_a_band(axes: Any) -> None:
    FIT.plot(axes, level=None, points=50)
    assert (len(axes.lines), len(axes.collections)) == (2, 0)
    assert axes.lines[1].get_xdata().size == 50


def test_plot_of_a_function_of_all_points(axes: Any) -> None:
    """The curve is drawn at the points of the data, because it depends on all points."""
    own = np.concatenate([x[:10], x[10:] ** 2])[::-1].copy()
    fit = dualfit.fit(lambda x, a, b: a * (x - x.mean()) ** 2 + b * x[0], own, np.cos(own), [1, 1])
    fit.plot(axes)
    line = axes.get_lines()[-1]
    order = np.argsort(own)
    np.testing.assert_array_equal(line.get_xdata(), own[order])
    np.testing.assert_allclose(line.get_ydata(), fit.predict()[order], rtol=1e-9)
    fit.plot(axes, level=None)


def test_plot_of_errors_and_components(axes: Any) -> None:
    spectrum = models.gaussian("g_") + models.linear("l_")
    fit = spectrum.fit(x, np.exp(-((x - 2) ** 2)) + x + 0.01 * np.sin(9 * x), sigma=0.02 + 0.001 * x)
    fit.plot(axes)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(labels) == ["95 % confidence", "data", "fit", "g", "l"]
    assert len(axes.containers) == 1


def test_plot_of_a_fit_that_was_kept(axes: Any) -> None:
    pickle.loads(pickle.dumps(fits()["lambda"])).plot(axes)
    assert len(axes.lines) == 2
    with pytest.raises(ValueError, match="only curves over one x are drawn"):
        fits()["rows"].plot(axes)
    with pytest.raises(ValueError, match="the data are not with this fit"):
        dualfit.Fit.from_json(FIT.to_json()).plot(axes)
