"""Recorded special functions of SciPy and complex arithmetic, compared with direct calls for random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_operations import agree, anything, arrays, assert_same, fixed, numbers, program_values, refused

from dualfit import curve_fit

sp = pytest.importorskip("scipy.special")

real = numbers(-30.0, 30.0, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, -1e-9, 1e-300, float("nan"))
positive = numbers(1e-9, 600.0, 1.0, 0.5, 2.0, 1e-300, float("nan"))
whole_line = st.one_of(anything, st.floats(-1000.0, 1000.0))

#: Functions of one number: strategy for the numbers, and tolerated relative difference.
ONE: dict[str, tuple[Any, float]] = {
    "erf": (whole_line, 1e-13),
    "erfc": (whole_line, 1e-13),
    "erfcx": (whole_line, 1e-13),
    "erfi": (whole_line, 1e-13),
    "dawsn": (whole_line, 1e-13),
    "ndtr": (whole_line, 1e-12),
    "log_ndtr": (whole_line, 1e-12),
    "expit": (whole_line, 1e-13),
    "logit": (numbers(-0.5, 1.5, 0.0, 1.0, 0.5), 1e-13),
    "log_expit": (whole_line, 1e-13),
    "entr": (whole_line, 1e-13),
    "exprel": (whole_line, 1e-13),
    "cosm1": (numbers(-3.0, 3.0, 1e-9), 1e-12),
    "exp10": (real, 1e-13),
    "exp2": (real, 1e-13),
    "expm1": (whole_line, 1e-13),
    "log1p": (whole_line, 1e-13),
    "cbrt": (whole_line, 1e-13),
    "wrightomega": (whole_line, 1e-13),
    "gamma": (numbers(0.0, 170.0, -1.5, 1.0, -0.5, -3.25, float("nan")), 1e-12),
    "gammaln": (positive, 1e-12),
    "loggamma": (numbers(-9.0, 600.0, 0.5, float("nan")), 1e-11),
    "rgamma": (numbers(-20.0, 170.0, 0.0, -1.0, -2.5), 1e-12),
    "psi": (positive, 1e-12),
    "digamma": (positive, 1e-12),
    "exp1": (numbers(0.0, 600.0, 1e-9, 1.0, float("inf"), float("nan")), 1e-12),
    # Between the zeros: near a zero the relative difference is meaningless.
    "j0": (numbers(-2.0, 2.0, 0.0), 1e-12),
    "j1": (numbers(-3.5, 3.5, 0.0, 1e-9), 1e-12),
    "y0": (numbers(1.2, 3.5), 1e-12),
    "y1": (numbers(2.5, 5.0), 1e-12),
    "i0": (real, 1e-12),
    "i1": (real, 1e-12),
    "i0e": (real, 1e-12),
    "i1e": (real, 1e-12),
    "k0": (numbers(1e-9, 600.0, 1.0), 1e-12),
    "k1": (numbers(1e-9, 600.0, 1.0), 1e-12),
    "k0e": (positive, 1e-12),
    "k1e": (positive, 1e-12),
}


@pytest.mark.parametrize("name", ONE)
@given(data=st.data())
@fixed
def test_functions_of_one_number(name: str, data: Any) -> None:
    elements, rtol = ONE[name]
    function = getattr(sp, name)
    x = data.draw(arrays(elements))
    agree(lambda x, p: function(x + p), x, rtol=rtol)
    agree(lambda x, p: x * function(p), x, float(x[0]), rtol=rtol)


shape_parameter = numbers(0.1, 300.0, 0.5, 1.0, 85.0, 170.0)
TWO: dict[str, tuple[Any, Any, float]] = {
    "xlogy": (real, real, 1e-13),
    "xlog1py": (real, numbers(-1.0, 1e6, 0.0), 1e-12),
    "rel_entr": (numbers(-1.0, 9.0, 0.0), numbers(-1.0, 9.0, 0.0), 1e-9),
    "kl_div": (numbers(-1.0, 2.0, 0.0), numbers(3.0, 9.0), 1e-9),
    "beta": (shape_parameter, shape_parameter, 1e-11),
    "betaln": (shape_parameter, numbers(3.0, 500.0), 1e-11),
    "boxcox": (numbers(1e-3, 99.0, 1.0), numbers(-4.0, 4.0, 0.0, 1e-9), 1e-11),
}


@pytest.mark.parametrize("name", TWO)
@given(data=st.data())
@fixed
def test_functions_of_two_numbers(name: str, data: Any) -> None:
    first, second, rtol = TWO[name]
    function = getattr(sp, name)
    x = np.stack([data.draw(arrays(first)), data.draw(arrays(second))])
    agree(lambda x, p: function(x[0] + p, x[1] + p), x, rtol=rtol)
    agree(lambda x, p: function(x[0], x[1] + p), x, rtol=rtol)
    agree(lambda x, p: function(x[0] + p, float(x[1, 0])), x, rtol=rtol)


@pytest.mark.parametrize("name", ["jv", "jn", "iv", "ive", "kv", "kve", "kn", "yv"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_bessel_functions_of_an_order(name: str, order: int) -> None:
    x = np.linspace(1.3, 1.9, 6)
    function = getattr(sp, name)
    if order == 2:
        refused(lambda x, a: function(order, a * x), x)
        refused(lambda x, a: function(a, x), x)
    else:
        agree(lambda x, p: function(order, x + p), x, rtol=1e-12)


def test_large_beta_functions() -> None:
    # B(1, b) = 1/b, B(2, b) = 1/(b(b + 1)).
    b = np.array([84.0, 169.5, 1e3, 1e6, 1e9, 1e15])
    for a, exact in ((1.0, -np.log(b)), (2.0, -np.log(b) - np.log(b + 1.0))):
        assert_same(program_values(lambda x, p: sp.betaln(p, x), b, [a], None), exact, 1e-13)
        assert_same(program_values(lambda x, p: sp.beta(x, p), b, [a], None), np.exp(exact), 1e-12)


@given(x=arrays(numbers(-30.0, 30.0, 0.0)), sigma=numbers(0.0, 3.0, 0.5), gamma=numbers(1e-3, 3.0))
@fixed
def test_voigt_profile(x: Any, sigma: float, gamma: float) -> None:
    agree(lambda x, s, g: sp.voigt_profile(x - 0.5, s, g), x, sigma, gamma, rtol=1e-12)
    agree(lambda x, p: sp.voigt_profile(x + p, sigma, gamma), x, rtol=1e-12)


@given(x=arrays(numbers(0.0, 1e9, 1e-300, 1.0)))
@fixed
def test_lambert_w(x: Any) -> None:
    agree(lambda x, p: sp.lambertw(x + p).real, x, rtol=1e-12)
    agree(lambda x, p: np.real(sp.lambertw(x + p, 0)), x, rtol=1e-12)


def test_what_is_refused_of_special_functions() -> None:
    for f in (
        lambda x, a: sp.gammainc(a, x),
        lambda x, a: sp.hyp2f1(a, 1.0, 2.0, x),
        lambda x, a: sp.lambertw(a * x, -1).real,
        lambda x, a: sp.erfinv(a * x),
        lambda x, a: sp.polygamma(1, a * x),
        lambda x, a: sp.expi(a * x),
    ):
        refused(f)


def test_a_function_of_another_library_with_a_known_name_is_refused() -> None:
    gamma = np.frompyfunc(lambda t: t + 1.0, 1, 1)
    refused(lambda x, a: gamma(a * x))


# Complex intermediate values.

COMPLEX: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name)
    for name in (
        "exp log log10 log2 sqrt sinh cosh tanh sin cos tan square reciprocal conjugate negative positive"
    ).split()
}
COMPLEX |= {
    "abs": abs,
    "np.abs": np.abs,
    "wofz": sp.wofz,
    "erfcx": sp.erfcx,
    "quotient": lambda z: (1.5 - 0.2j) / z,
    "sum": lambda z: z + 1j - (2.0 - z) + z.conj(),
    "product": lambda z: (1.5 - 0.2j) * z * z.conjugate() * z,
    "cube": lambda z: z**3,
    "inverse square": lambda z: z**-2,
    "zeroth power": lambda z: z**0,
    "root": lambda z: z**0.5,
    "power": lambda z: z**1.7,
    "complex power": lambda z: z ** (0.5 + 0.3j),
    "power of a number": lambda z: 2.0**z,
    "power by itself": lambda z: z**z,
    "angle": np.angle,
    "degrees": lambda z: np.angle(z, deg=True),
    "parts": lambda z: z.real - 2.0 * np.imag(z),
    "conj": np.conj,
    "sum of a list": lambda z: sum([z, 2.0 * z, 1j]),
    "choice": lambda z: np.where(z.real > 0.0, z, 2.0),
    "choice of numbers": lambda z: np.where(z.real > 0.0, 1j, z.imag),
    "in place": lambda z: operator_in_place(z + 0.0),
    "part of a row": lambda z: z[1:4].reshape(3, 1).ravel(),
    "view": lambda z: (z * 1.0).view(float),
    "both": lambda z: np.concatenate([z.real, z.imag]),
}


def operator_in_place(z: Any) -> Any:
    w = z
    w += 1.0
    w *= 2j
    w /= 1.5
    w -= 0.5
    return z


part = st.one_of(st.sampled_from([0.5, 1.0, -1.0, 1e-9, -1e-4]), st.floats(0.01, 8.0), st.floats(-8.0, -0.01))


@pytest.mark.parametrize("name", COMPLEX)
@given(re=arrays(part), im=arrays(part))
@fixed
def test_complex_values(name: str, re: Any, im: Any) -> None:
    function = COMPLEX[name]
    z = np.stack([re, im])

    def size(value: Any) -> Any:
        # The rounding error of a part is proportional to the magnitude; that of a logarithm near 0 is the error of its
        # argument.
        return value if not np.iscomplexobj(value) else value.real + np.abs(value) + 1.0

    def of_two(x: Any, p: Any) -> Any:
        return size(function((x[0] + p) + 1j * (x[1] + p)))

    def other_part(x: Any, p: Any) -> Any:
        value = function((x[0] + p) + 1j * x[1])
        return size(value * -1j) if np.iscomplexobj(value) else value

    for f in (of_two, other_part):
        agree(f, z, rtol=1e-11)


@pytest.mark.parametrize(
    "name", ["exp", "log", "sqrt", "sinh", "cosh", "tanh", "sin", "cos", "tan", "reciprocal"]
)
def test_complex_values_with_one_part(name: str) -> None:
    function = getattr(np, name)
    x = np.array([0.3, 0.7, 1.2, 2.0, 2.9, 400.0])
    agree(lambda x, p: abs(function(1j * (x + p))), x[:-1], rtol=1e-12)
    agree(lambda x, p: np.angle(function(1j * x * (p + 1.0))), x[:-1], rtol=1e-12)
    agree(lambda x, p: function((x + p) + 0j).real, x[:-1], rtol=1e-12)


def test_complex_values_far_out() -> None:
    x = np.array([1e-200, 1e-3, 30.0, 400.0, 1e160, 1e200])
    agree(lambda x, p: np.abs(1.0 / ((x + p) + 1j * (x + p))), x, rtol=1e-12)
    agree(lambda x, p: np.abs(np.tanh((x + p) + 1j * (x + p))), x[:-2], rtol=1e-12)
    agree(lambda x, p: np.abs(np.sqrt((p - x) + 1j * (x + p))), x, rtol=1e-12)
    agree(lambda x, p: ((1j * x) ** (p + 0.8)).imag, x[:-2], rtol=1e-12)
    agree(lambda x, p: np.abs((x + 0j) ** (p + 0.8)), np.arange(6.0), rtol=1e-12)


def test_complex_arrays_changed_in_place() -> None:
    def f(x: Any, a: Any) -> Any:
        z = np.zeros(x.shape, complex)
        z += a * np.exp(1j * x)
        z /= 1j
        return z.imag

    agree(f, np.linspace(0.0, 3.0, 7), 1.3)


def test_what_is_refused_of_complex_values() -> None:
    refused(lambda x, a: a * x + 1j * x, match="complex result")
    for f in (
        lambda z: z if z.real.max() > 0 else z,
        lambda z: np.maximum(z, 0).real,
        lambda z: (z > 1) * 1.0,
        lambda z: float(z),
        lambda z: np.array(z).real,
        lambda z: np.sort(z).real,
        lambda z: z.sum().real,
        lambda z: np.arcsin(z).real,
        lambda z: sp.gamma(z).real,
        lambda z: {z: 1},
        lambda z: np.concatenate([z, z]).real,
        lambda z: np.add.reduce(z).real,
        lambda z: (z == 0) * 1.0,
        lambda z: z.astype(float),
        lambda z: np.exp(z, out=z),
    ):
        refused(lambda x, a, f=f: f(a * x + 1j * x))


# Partials where branches meet, and where a product of 0 and infinity could occur.

PARTIALS: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "logaddexp of equal numbers": (lambda a: np.logaddexp(a, 1.0), 1.0, 0.5),
    "logaddexp2 of equal numbers": (lambda a: np.logaddexp2(1.0, a), 1.0, 0.5),
    "exprel at 0": (sp.exprel, 0.0, 0.5),
    "log_expit at 0": (sp.log_expit, 0.0, 0.5),
    "xlogy at 0": (lambda a: sp.xlogy(a, 3.0), 0.0, np.log(3.0)),
    "xlogy of 0": (lambda a: sp.xlogy(0.0, a) + a, 0.0, 1.0),
    "logit at the middle": (sp.logit, 0.5, 4.0),
    "lambertw at 0": (lambda a: sp.lambertw(a).real, 0.0, 1.0),
    "log_ndtr far below": (sp.log_ndtr, -20.0, 20.049753068527850542),
    "boxcox at 0": (lambda a: sp.boxcox(3.0, a), 0.0, np.log(3.0) ** 2 / 2.0),
    "sinc at 0": (lambda a: np.sinc(a) + a, 0.0, 1.0),
    "remainder by a": (lambda a: 5.0 % a, 0.7, -7.0),
    "fmod by a": (lambda a: np.fmod(-5.0, a), 0.7, 7.0),
    "power of 0": (lambda a: np.power(0.0, a) + a, 1.5, 1.0),
    "complex power of 0": (lambda a: abs((0j) ** a) + a, 0.8, 1.0),
    "complex root at the imaginary axis": (lambda a: np.sqrt(a + 2j).real, 0.0, 0.25),
    "complex tanh at the imaginary axis": (lambda a: np.tanh(a + 0.4j).real, 0.0, np.cos(0.4) ** -2.0),
    "magnitude": (lambda a: abs(a - 2j), 1.0, 5.0**-0.5),
    "quotient": (lambda a: (1.0 / (a + 2j)).imag, 1.0, 0.16),
    "Voigt without a Lorentzian": (lambda a: sp.voigt_profile(0.0, 1.0, a) * np.pi, 0.0, -1.0),
}


@pytest.mark.parametrize("name", PARTIALS)
def test_partials(name: str) -> None:
    function, at, partial = PARTIALS[name]
    x = np.array([1.0, 2.0])
    y = function(np.float64(at)) * np.ones(2)
    _, covariance = curve_fit(
        lambda x, a: function(a) + 0.0 * x, x, y, p0=[at], sigma=np.ones(2), absolute_sigma=True
    )
    # The only parameter has the variance 1/Σ(∂f/∂a)².
    assert 1.0 / np.sqrt(2.0 * covariance[0, 0]) == pytest.approx(abs(partial), rel=1e-9)
