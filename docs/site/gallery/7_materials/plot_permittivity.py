"""
Complex permittivity of a polymer
=================================

Dielectric relaxation by Havriliak and Negami: ε(f) = ε∞ + Δε/(1 + (2πi f τ)^α)^β. Storage and loss are measured
together, with errors of 1 % of each. Both parts are fitted at once. Values of the α relaxation of poly(vinyl
acetate) above its glass transition are used: Δε = 6.5, α = 0.9, β = 0.5 (Havriliak and Negami, *Polymer* 8, 161,
1967, for the form).
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(22)
f = np.logspace(-1, 6, 60)  # Hz


def permittivity(f, high, step, log_tau, alpha, beta):
    return high + step / (1 + (2j * np.pi * f * 10**log_tau) ** alpha) ** beta


def both_parts(f, high, step, log_tau, alpha, beta):
    z = permittivity(f, high, step, log_tau, alpha, beta)
    return np.concatenate([z.real, -z.imag])


true = both_parts(f, 3.0, 6.5, -2.0, 0.9, 0.5)
sigma = 0.01 * true
y = true + sigma * rng.normal(size=true.size)

bounds = {"high": (0, 20), "step": (0, 50), "log_tau": (-8, 3), "alpha": (0.1, 1), "beta": (0.1, 1)}
fit = dualfit.fit(both_parts, f, y, sigma=sigma, absolute_sigma=True, bounds=bounds)
print(fit)

fig, ax = plt.subplots(layout="constrained")
for k, label in enumerate(("storage ε'", "loss ε''")):
    part = slice(k * f.size, (k + 1) * f.size)
    ax.plot(f, y[part], "o", ms=3, color=f"C{k}")
    ax.plot(f, fit.predict()[part], color=f"C{k}", label=label)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="frequency / Hz",
    ylabel="permittivity",
    title=f"α = {fit['alpha']}, β = {fit['beta']}",
)
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
truth_of = {"high": 3, "step": 6.5, "log_tau": -2, "alpha": 0.9, "beta": 0.5}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** Storage and loss contribute by their relative errors. Without sigma the loss at
# high frequencies would have no influence, because it is small.
#
# **What they do not include.** The geometry of the sample scales both parts. Conductivity of ions at low
# frequencies needs one more term, σ/(2π f ε₀), in the loss. Errors of a bridge are often correlated between the
# two parts.
