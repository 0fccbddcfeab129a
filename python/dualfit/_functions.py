"""What NumPy's and SciPy's functions are recorded as.

Ufuncs are known by their names, so that SciPy need not be there. What a program has no operation for is put together
from those that it has; a branch that is not taken may have no value, since `select` takes the derivative of the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._complex import ComplexTracer, complex_called, is_complex
from ._trace import NotTraceable, Tape, Tracer, applied, power

#: Ufuncs of one number that a program has an operation for.
_UNARY = {
    "exp": "exp", "exp2": "exp2", "expm1": "exp_m1", "log": "ln", "log1p": "ln_1p", "log2": "log2", "log10": "log10",
    "sqrt": "sqrt", "cbrt": "cbrt", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "absolute": "abs", "fabs": "abs", "floor": "floor", "ceil": "ceil", "negative": "neg",
    "reciprocal": "recip", "deg2rad": "to_radians", "radians": "to_radians", "rad2deg": "to_degrees",
    "degrees": "to_degrees", "erf": "erf", "erfc": "erfc", "erfcx": "erfcx", "gamma": "gamma", "gammaln": "ln_gamma",
    "loggamma": "ln_gamma", "expit": "expit", "exp1": "e1", "j0": "j0", "j1": "j1", "y0": "y0", "y1": "y1", "i0": "i0",
    "i1": "i1", "i0e": "i0e", "i1e": "i1e", "k0": "k0", "k1": "k1", "k0e": "k0e", "k1e": "k1e",
    "wrightomega": "wright_omega",
}
#: Those of two numbers.
_BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "arctan2": "atan2",
    "hypot": "hypot", "minimum": "min", "maximum": "max", "fmod": "fmod",
}
#: Comparisons: the operation, and whether the operands change places.
_COMPARE = {"less": ("lt", False), "less_equal": ("le", False), "greater": ("lt", True), "greater_equal": ("le", True),
            "equal": ("eq", False)}


def _select(condition: Any, yes: Any, no: Any) -> Any:
    return FUNCTIONS["where"](condition, yes, no)


def _sign(x: Any) -> Any:
    return _select(x > 0.0, 1.0, _select(x < 0.0, -1.0, x * 0.0))


def _heaviside(x: Any, at_zero: Any) -> Any:
    return _select(x > 0.0, 1.0, _select(x < 0.0, 0.0, at_zero))


def _remainder(x: Any, divisor: Any) -> Any:
    rest = np.fmod(x, divisor)
    return _select((rest != 0.0) & ((rest < 0.0) != (divisor < 0.0)), rest + divisor, rest)


def _logaddexp(x: Any, y: Any) -> Any:
    # Where both are the same infinity their difference has no value.
    return _select(x == y, x + math.log(2.0), np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y))))


def _voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    scale = sigma * math.sqrt(2.0)
    tape = _tape(x, sigma, gamma)
    return applied(tape, "faddeeva_re", x / scale, gamma / scale) / (sigma * math.sqrt(2.0 * math.pi))


def _xlogy(x: Any, y: Any) -> Any:
    return _select((x == 0.0) & (y == y), 0.0, x * np.log(_select(x == 0.0, 1.0, y)))


def _xlog1py(x: Any, y: Any) -> Any:
    return _select((x == 0.0) & (y == y), 0.0, x * np.log1p(_select(x == 0.0, 1.0, y)))


def _log_expit(x: Any) -> Any:
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


def _cosm1(x: Any) -> Any:
    half = np.sin(0.5 * x)
    return -2.0 * half * half


#: Ufuncs that are put together from others.
_COMPOSED: dict[str, Callable[..., Any]] = {
    "square": lambda x: x * x,
    "positive": lambda x: x,
    "conjugate": lambda x: x,
    "float_power": lambda x, y: _power(x, y),
    "power": lambda x, y: _power(x, y),
    "sign": _sign,
    "heaviside": _heaviside,
    "floor_divide": lambda x, y: np.floor(x / y),
    "remainder": _remainder,
    "trunc": lambda x: _select(x < 0.0, np.ceil(x), np.floor(x)),
    "fmin": lambda x, y: _select(x != x, y, _select(y != y, x, np.minimum(x, y))),
    "fmax": lambda x, y: _select(x != x, y, _select(y != y, x, np.maximum(x, y))),
    "logaddexp": _logaddexp,
    "logaddexp2": lambda x, y: _logaddexp(x * math.log(2.0), y * math.log(2.0)) * (1.0 / math.log(2.0)),
    "isnan": lambda x: x != x,
    "isfinite": lambda x: np.abs(x) < np.inf,
    "isinf": lambda x: np.abs(x) == np.inf,
    "logit": lambda x: np.log(x) - np.log1p(-x),
    "log_expit": _log_expit,
    "softplus": lambda x: -_log_expit(-x),
    "psi": lambda x: x.unary("polygamma", 0.0),
    "beta": lambda a, b: np.exp(_betaln(a, b)),
    "betaln": lambda a, b: _betaln(a, b),
    "ndtr": lambda x: _erfc(-x * math.sqrt(0.5)) * 0.5,
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
    "entr": lambda x: _select(x > 0.0, -x * np.log(x), _select(x == 0.0, 0.0, -np.inf)),
    "exp10": lambda x: np.power(10.0, x),
    "cosm1": _cosm1,
    "dawsn": lambda x: applied(x.tape, "faddeeva_im", x, 0.0) * (0.5 * math.sqrt(math.pi)),
    "voigt_profile": _voigt_profile,
}


def _erfc(x: Tracer) -> Tracer:
    return x.unary("erfc")


def _ln_gamma(x: Any) -> Any:
    if isinstance(x, Tracer):
        return x.unary("ln_gamma")
    return np.vectorize(math.lgamma, otypes=[float])(x)


def _betaln(a: Any, b: Any) -> Any:
    return _ln_gamma(a) + _ln_gamma(b) - _ln_gamma(a + b)


def _power(x: Any, y: Any) -> Any:
    return power(x, y) if isinstance(x, Tracer) else applied(y.tape, "pow", x, y)


def called(tape: Tape, name: str, inputs: tuple[Any, ...]) -> Any:
    """A ufunc of values, of which one at least depends on a parameter."""
    if any(is_complex(value) for value in inputs):
        return complex_called(name, inputs)
    one = _UNARY.get(name)
    if one is not None:
        return inputs[0].unary(one)
    two = _BINARY.get(name)
    if two is not None:
        first, second = inputs
        if name in ("add", "multiply") and getattr(first, "dtype", None) == getattr(second, "dtype", None) == bool:
            return np.logical_or(first, second) if name == "add" else np.logical_and(first, second)
        return applied(tape, two, first, second)
    compare = _COMPARE.get(name)
    if compare is not None:
        operation, swapped = compare
        return applied(tape, operation, *(inputs[::-1] if swapped else inputs), is_mask=True)
    if name == "not_equal":
        return ~applied(tape, "eq", *inputs, is_mask=True)
    if name in ("logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor",
                "invert"):
        return _logical(tape, name, inputs)
    if name == "wofz":
        return complex_called(name, inputs)
    composed = _COMPOSED.get(name)
    if composed is None:
        raise NotTraceable(f"the function {name} of values that depend on a parameter")
    return composed(*inputs)


def _logical(tape: Tape, name: str, inputs: tuple[Any, ...]) -> Any:
    """Truths; numbers are true where they are not 0."""
    bits = name.startswith("bitwise") or name == "invert"
    if bits and any(getattr(v, "dtype", np.dtype(type(v))) != bool for v in inputs):
        raise TypeError(f"ufunc '{name}' is for comparisons")
    if name in ("logical_not", "invert"):
        return applied(tape, "not", inputs[0], is_mask=True)
    both = applied(tape, "and", *inputs, is_mask=True)
    if name.endswith("and"):
        return both
    one = applied(tape, "or", *inputs, is_mask=True)
    return one if name.endswith("_or") else applied(tape, "and", one, ~both, is_mask=True)


def _tape(*values: Any) -> Tape:
    for value in values:
        if isinstance(value, Tracer):
            return value.tape
        if isinstance(value, ComplexTracer):
            return value.tape
    raise NotTraceable("no value depends on a parameter")


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise NotTraceable("np.where(condition) asks for places; use np.where(condition, a, b)")
    if not any(isinstance(v, (Tracer, ComplexTracer)) for v in (condition, x, y)):
        return np.where(condition, x, y)
    if is_complex(x) or is_complex(y):
        parts = [(np.real(v), np.imag(v)) for v in (x, y)]
        return ComplexTracer(_where(condition, parts[0][0], parts[1][0]), _where(condition, parts[0][1], parts[1][1]))
    return applied(_tape(condition, x, y), "select", condition, x, y)


def clipped(a: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> Any:
    """Values within limits."""
    low, high = kwargs.get("min", a_min), kwargs.get("max", a_max)
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _chosen(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    chosen = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist))):
        chosen = _where(condition, choice, chosen)
    return chosen


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Any:
    def value(piece: Any) -> Any:
        return piece(x, *args, **kwargs) if callable(piece) else piece

    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    default = value(funclist[-1]) if len(funclist) > len(conditions) else 0.0
    # The last of the conditions that hold decides.
    chosen = default
    for condition, piece in zip(conditions, funclist):
        chosen = _where(condition, value(piece), chosen)
    return chosen


def _polyval(p: Any, x: Any) -> Any:
    value: Any = 0.0
    for coefficient in p:
        value = value * x + coefficient
    return value


def _filled(value: float | None) -> Callable[..., Any]:
    def like(a: Tracer, fill_value: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
        content = fill_value if value is None else value
        if isinstance(content, Tracer):
            return applied(content.tape, "add", content, np.zeros(a.shape)) if a.shape else content
        return np.full(a.shape, content, dtype=dtype or float)

    return like


def _interpolated(*args: Any, **kwargs: Any) -> Any:
    raise NotTraceable("np.interp at places that depend on a parameter; use dualfit.models.spline, or a formula")


#: NumPy's functions that are no ufuncs, by their names.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "clip": clipped,
    "select": _chosen,
    "piecewise": _piecewise,
    "polyval": _polyval,
    "interp": _interpolated,
    "sinc": lambda x: x.unary("sinc"),
    "i0": lambda x: x.unary("i0"),
    "ones_like": _filled(1.0),
    "zeros_like": _filled(0.0),
    "empty_like": _filled(0.0),
    "full_like": _filled(None),
    "real": lambda val: val.real,
    "imag": lambda val: val.imag,
    "angle": lambda z, deg=False: _select(z < 0.0, 180.0 if deg else math.pi, 0.0),
    "real_if_close": lambda a, tol=100: a,
    "isreal": lambda x: np.ones(x.shape, dtype=bool),
    "iscomplexobj": lambda x: False,
    "ravel": lambda a, order="C": a.ravel(order),
    "reshape": lambda a, shape=None, *args, **kwargs: a.reshape(shape if shape is not None else kwargs["newshape"]),
    "squeeze": lambda a, axis=None: a.squeeze(axis),
    "atleast_1d": lambda *arys: arys[0] if arys[0].shape else arys[0]._in_shape((1,)),
    "copy": lambda a, order="K", subok=False: a,
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "broadcast_to": lambda array, shape, subok=False: applied(array.tape, "add", array, np.zeros(shape)),
}
