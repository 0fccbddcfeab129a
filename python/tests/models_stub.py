"""Write the type stub of `dualfit.models`, whose functions are created at their first use.

python models_stub.py > ../dualfit/models.pyi
"""

from __future__ import annotations

from dualfit import models

HEAD = '''"""Models by name, which find their own starts, add, multiply and nest. Made by `tests/models_stub.py`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._model import Model

_FORMS: dict[str, str]
_LMFIT: dict[str, str]
_MADE: tuple[str, ...]

def names() -> list[str]:
    """The names of the models."""

def by_name(name: str, prefix: str = "") -> Model:
    """The model of a name."""

def polynomial(degree: int, prefix: str = "") -> Model:
    """c0 + c1·x + c2·x² + …, with its start."""

def PolynomialModel(degree: int = 7, prefix: str = "") -> Model:
    """`polynomial`, as lmfit calls it."""

def spline(knots: Sequence[float] | NDArray[np.float64], prefix: str = "") -> Model:
    """A cubic spline with these knots, with its start."""

def SplineModel(xknots: Sequence[float] | NDArray[np.float64], prefix: str = "") -> Model:
    """`spline`, as lmfit calls it."""

def ExpressionModel(expr: str, independent_vars: Sequence[str] = ("x",)) -> Model:
    """A formula, as lmfit calls it: ``Model(expr, variables=independent_vars)``."""

def Gaussian2dModel(prefix: str = "") -> Model:
    """`gaussian2d_elliptic`, as lmfit calls it."""

def StepModel(form: str = "linear", prefix: str = "") -> Model:
    """`step_linear`, `step_atan`, `step_erf` or `step_logistic`, as lmfit calls them by `form`."""

def RectangleModel(form: str = "linear", prefix: str = "") -> Model:
    """`rectangle_atan`, `rectangle_erf` or `rectangle_logistic`, as lmfit calls them by `form`."""

def ThermalDistributionModel(form: str = "bose", prefix: str = "") -> Model:
    """Names the replacement of lmfit's model of this name, of which amplitude and center are one parameter."""

def parse(text: str) -> Model:
    """What a text describes: ``"gaussian(g1_) + linear(bg_)"``."""

def __dir__() -> list[str]: ...
'''


def stub() -> str:
    """Return the text of `models.pyi`: a function for each library model and for each name of lmfit."""
    known = {name: name for name in models.names()} | models._LMFIT
    functions = [f'\ndef {name}(prefix: str = "") -> Model:\n    """Parameters: {", ".join(models.by_name(model).parameters)}."""\n'
                 for name, model in known.items()]
    return HEAD + "".join(functions)


if __name__ == "__main__":
    print(stub(), end="")
