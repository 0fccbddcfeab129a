"""Models by name, which find their own starts, add, multiply and nest. Made by `tests/models_stub.py`."""

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

def constant(prefix: str = "") -> Model:
    """Parameters: c."""

def linear(prefix: str = "") -> Model:
    """Parameters: slope, intercept."""

def quadratic(prefix: str = "") -> Model:
    """Parameters: a, b, c."""

def gaussian(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def lorentzian(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def voigt(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def pseudo_voigt(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, fraction."""

def pearson7(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, expon."""

def moffat(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, beta."""

def students_t(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def exponential_gaussian(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def skewed_gaussian(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def skewed_voigt(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma, skew."""

def pearson4(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, expon, skew."""

def lognormal(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def split_lorentzian(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, sigma_r."""

def doniach(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def breit_wigner(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, q."""

def damped_oscillator(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def damped_harmonic_oscillator(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def sine(prefix: str = "") -> Model:
    """Parameters: amplitude, frequency, shift."""

def damped_sine(prefix: str = "") -> Model:
    """Parameters: amplitude, frequency, shift, decay."""

def step_linear(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def step_erf(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def step_logistic(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def step_atan(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def rectangle_linear(prefix: str = "") -> Model:
    """Parameters: amplitude, center1, sigma1, center2, sigma2."""

def rectangle_erf(prefix: str = "") -> Model:
    """Parameters: amplitude, center1, sigma1, center2, sigma2."""

def rectangle_logistic(prefix: str = "") -> Model:
    """Parameters: amplitude, center1, sigma1, center2, sigma2."""

def rectangle_atan(prefix: str = "") -> Model:
    """Parameters: amplitude, center1, sigma1, center2, sigma2."""

def gaussian2d(prefix: str = "") -> Model:
    """Parameters: amplitude, centerx, centery, sigma."""

def gaussian2d_elliptic(prefix: str = "") -> Model:
    """Parameters: amplitude, centerx, centery, sigmax, sigmay."""

def gaussian2d_rotated(prefix: str = "") -> Model:
    """Parameters: amplitude, centerx, centery, sigmax, sigmay, rotation."""

def exponential(prefix: str = "") -> Model:
    """Parameters: amplitude, decay."""

def exponential_offset(prefix: str = "") -> Model:
    """Parameters: amplitude, decay, offset."""

def biexponential(prefix: str = "") -> Model:
    """Parameters: amplitude1, decay1, amplitude2, decay2."""

def triexponential(prefix: str = "") -> Model:
    """Parameters: amplitude1, decay1, amplitude2, decay2, amplitude3, decay3."""

def stretched_exponential(prefix: str = "") -> Model:
    """Parameters: amplitude, decay, beta."""

def growth(prefix: str = "") -> Model:
    """Parameters: amplitude, rate."""

def power_law(prefix: str = "") -> Model:
    """Parameters: amplitude, exponent."""

def logistic_growth(prefix: str = "") -> Model:
    """Parameters: capacity, rate, midpoint."""

def gompertz(prefix: str = "") -> Model:
    """Parameters: capacity, rate, midpoint."""

def weibull(prefix: str = "") -> Model:
    """Parameters: capacity, scale, shape."""

def michaelis_menten(prefix: str = "") -> Model:
    """Parameters: vmax, km."""

def langmuir(prefix: str = "") -> Model:
    """Parameters: qmax, affinity."""

def freundlich(prefix: str = "") -> Model:
    """Parameters: capacity, n."""

def hill(prefix: str = "") -> Model:
    """Parameters: emax, ec50, hill."""

def logistic4(prefix: str = "") -> Model:
    """Parameters: bottom, top, ec50, hill."""

def logistic4_log(prefix: str = "") -> Model:
    """Parameters: bottom, top, log_ec50, hill."""

def logistic5(prefix: str = "") -> Model:
    """Parameters: bottom, top, ec50, hill, asymmetry."""

def inversion_recovery(prefix: str = "") -> Model:
    """Parameters: m0, inversion, t1."""

def inversion_recovery_magnitude(prefix: str = "") -> Model:
    """Parameters: m0, inversion, t1."""

def saturation_recovery(prefix: str = "") -> Model:
    """Parameters: m0, t1."""

def variable_flip_angle(prefix: str = "") -> Model:
    """Parameters: m0, t1."""

def arrhenius(prefix: str = "") -> Model:
    """Parameters: amplitude, energy."""

def planck(prefix: str = "") -> Model:
    """Parameters: amplitude, temperature."""

def fermi_dirac(prefix: str = "") -> Model:
    """Parameters: amplitude, center, kt."""

def bose_einstein(prefix: str = "") -> Model:
    """Parameters: amplitude, center, kt."""

def lennard_jones(prefix: str = "") -> Model:
    """Parameters: depth, sigma."""

def morse(prefix: str = "") -> Model:
    """Parameters: depth, center, width."""

def ivim(prefix: str = "") -> Model:
    """Parameters: s0, fraction, diffusion, pseudo_diffusion."""

def fcs_diffusion(prefix: str = "") -> Model:
    """Parameters: number, time, aspect."""

def bet(prefix: str = "") -> Model:
    """Parameters: monolayer, c."""

def diode(prefix: str = "") -> Model:
    """Parameters: i0, nvt."""

def diode_series_resistance(prefix: str = "") -> Model:
    """Parameters: i0, nvt, rs."""

def ConstantModel(prefix: str = "") -> Model:
    """Parameters: c."""

def LinearModel(prefix: str = "") -> Model:
    """Parameters: slope, intercept."""

def QuadraticModel(prefix: str = "") -> Model:
    """Parameters: a, b, c."""

def ExponentialModel(prefix: str = "") -> Model:
    """Parameters: amplitude, decay."""

def PowerLawModel(prefix: str = "") -> Model:
    """Parameters: amplitude, exponent."""

def GaussianModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def LorentzianModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def VoigtModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def PseudoVoigtModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, fraction."""

def MoffatModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, beta."""

def Pearson4Model(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, expon, skew."""

def Pearson7Model(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, expon."""

def StudentsTModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def BreitWignerModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, q."""

def LognormalModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def DampedOscillatorModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma."""

def DampedHarmonicOscillatorModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def ExponentialGaussianModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def SkewedGaussianModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def SkewedVoigtModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma, skew."""

def DoniachModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, gamma."""

def SplitLorentzianModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, sigma, sigma_r."""

def SineModel(prefix: str = "") -> Model:
    """Parameters: amplitude, frequency, shift."""

def FermiModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, kt."""

def BoseModel(prefix: str = "") -> Model:
    """Parameters: amplitude, center, kt."""
