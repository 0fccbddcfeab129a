"""Values of lmfit's models, 15 points each.

Usage, in this folder: python lmfit_models.py > ../data/models/lmfit.txt   (pip install lmfit==1.3.4)

A line is a model as dualfit writes it, its parameters by dualfit's names, the variables and the values.
"""

import lmfit
import numpy as np
import scipy
from lmfit import models as m


def write(name, params, columns, values):
    numbers = lambda row: " ".join(repr(float(v)) for v in row)
    said = " ".join(f"{key}={float(value)!r}" for key, value in params.items())
    print("|".join([name, said, ";".join(numbers(c) for c in columns), numbers(values)]))


def record(name, model, x, params, renamed=None):
    """`params` by lmfit's names; `renamed`: by dualfit's, where they differ."""
    x = np.array(x, float)
    values = model.eval(model.make_params(**params), x=x.copy())
    write(name, renamed or params, [x], values)


print(f"# lmfit {lmfit.__version__}, scipy {scipy.__version__}, numpy {np.__version__}")
wide = np.linspace(-4.0, 10.0, 15)
positive = np.linspace(0.3, 9.0, 15)
peak = dict(amplitude=3.7, center=2.1, sigma=1.3)

record("constant", m.ConstantModel(), wide, dict(c=2.5))
record("linear", m.LinearModel(), wide, dict(slope=0.7, intercept=-2.0))
record("quadratic", m.QuadraticModel(), wide, dict(a=0.3, b=-1.1, c=2.0))
record("polynomial(3)", m.PolynomialModel(3), wide, dict(c0=1.0, c1=-0.5, c2=0.25, c3=-0.03))
record("gaussian", m.GaussianModel(), wide, peak)
record("lorentzian", m.LorentzianModel(), wide, peak)
record("split_lorentzian", m.SplitLorentzianModel(), wide, dict(peak, sigma_r=0.6))
record("voigt", m.VoigtModel(), wide, dict(peak, gamma=0.7))
record("pseudo_voigt", m.PseudoVoigtModel(), wide, dict(peak, fraction=0.3))
record("moffat", m.MoffatModel(), wide, dict(peak, beta=1.8))
record("pearson4", m.Pearson4Model(), wide, dict(peak, expon=2.2, skew=-1.9))
record("pearson4", m.Pearson4Model(), wide, dict(peak, expon=60.0, skew=85.0))
record("pearson7", m.Pearson7Model(), wide, dict(peak, expon=1.7))
record("students_t", m.StudentsTModel(), wide, peak)
record("breit_wigner", m.BreitWignerModel(), wide, dict(peak, q=1.4))
record("lognormal", m.LognormalModel(), positive, dict(amplitude=3.7, center=1.1, sigma=0.6))
record("damped_oscillator", m.DampedOscillatorModel(), positive, dict(amplitude=3.7, center=4.0, sigma=0.15))
# With the point x = 0, where it has its limit.
both = np.linspace(-7.0, 7.0, 15)
record("damped_harmonic_oscillator", m.DampedHarmonicOscillatorModel(), both, dict(peak, gamma=1.7))
record("exponential_gaussian", m.ExponentialGaussianModel(), wide, dict(peak, gamma=0.8))
record("skewed_gaussian", m.SkewedGaussianModel(), wide, dict(peak, gamma=2.5))
record("skewed_voigt", m.SkewedVoigtModel(), wide, dict(peak, gamma=0.7, skew=2.5))
record("doniach", m.DoniachModel(), wide, dict(peak, gamma=0.2))
record("sine", m.SineModel(), wide, dict(amplitude=3.7, frequency=1.3, shift=0.4))
record("power_law", m.PowerLawModel(), positive, dict(amplitude=3.7, exponent=-1.3))
record("exponential", m.ExponentialModel(), wide, dict(amplitude=3.7, decay=2.2))
for ours, form in [("linear", "linear"), ("erf", "erf"), ("logistic", "logistic"), ("atan", "arctan")]:
    record(f"step_{ours}", m.StepModel(form=form), wide, peak)
    sides = dict(amplitude=3.7, center1=1.0, sigma1=0.9, center2=5.5, sigma2=1.4)
    # A ramp of lmfit's rectangle is two sigma long.
    factor = 2.0 if form == "linear" else 1.0
    renamed = dict(sides, sigma1=factor * sides["sigma1"], sigma2=factor * sides["sigma2"])
    record(f"rectangle_{ours}", m.RectangleModel(form=form), wide, sides, renamed)
record("fermi_dirac", m.FermiModel(), wide, dict(amplitude=3.7, center=2.1, kt=0.9))
record("bose_einstein", m.BoseModel(), positive, dict(amplitude=3.7, center=-0.4, kt=2.3))
# Amplitude and center of a thermal distribution are one parameter: A exp((x - c)/kt) = exp((x - c + kt ln A)/kt).
thermal = dict(amplitude=1.8, center=-0.9, kt=2.3)
moved = dict(amplitude=1.0, center=thermal["center"] - 2.3 * np.log(1.8), kt=2.3)
record("fermi_dirac", m.ThermalDistributionModel(form="fermi"), wide, thermal, moved)
record("bose_einstein", m.ThermalDistributionModel(form="bose"), positive, thermal, moved)
maxwell = dict(amplitude=np.exp(-0.9 / 2.3) / 1.8, decay=2.3)
record("exponential", m.ThermalDistributionModel(form="maxwell"), wide, thermal, maxwell)
for knots in ([0.0, 2.0, 3.0, 7.0], [-1.0, 0.0, 2.0, 3.5, 4.0, 6.5, 8.0]):
    values = [1.0, -2.0, 0.5, 3.0, 2.5, -1.0, 0.25][: len(knots)]
    params = {f"s{i}": v for i, v in enumerate(values)}
    # Points beyond the ends, too.
    x = np.linspace(-2.0, 9.0, 15)
    record(f"spline({', '.join(map(repr, knots))})", m.SplineModel(xknots=np.array(knots)), x, params)
u, v = np.linspace(-2.0, 4.0, 15), 1.0 + np.cos(np.arange(15.0))
spot = dict(amplitude=3.7, centerx=0.8, centery=1.1, sigmax=1.3, sigmay=0.7)
model = m.Gaussian2dModel()
write("gaussian2d_elliptic", spot, [u, v], model.eval(model.make_params(**spot), x=u, y=v))
# A function, of which lmfit has no model: a rate in place of a lifetime.
values = lmfit.lineshapes.expsine(wide, amplitude=3.7, frequency=1.3, shift=0.4, decay=0.2)
write("damped_sine", dict(amplitude=3.7, frequency=1.3, shift=0.4, decay=5.0), [wide], values)
