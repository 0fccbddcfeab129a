"""Models with several variables, with other shapes and types, and with complex intermediate values."""

from __future__ import annotations

import cmath

import numpy as np
from cases import GX, GY, XY, T, W, model
from models_of_curves import decay, line

# Several variables and other shapes.


@model(1.0, 2.0, x=XY)
def two_rows(X, a, b):
    x, y = X
    return a * x + np.exp(b * y)


@model(1.0, 2.0, x=XY)
def two_rows_by_index(X, a, b):
    return a * X[0] * X[1] + b * X[1, :] ** 2


@model(1.0, 2.0, x=(XY[0], XY[1]))
def tuple_of_arrays(X, a, b):
    x, y = X
    return a * x + b * y


@model(1.0, 2.0, x=XY.T)
def columns_of_a_table(X, a, b):
    return a * X[:, 0] + b * X[:, 1]


@model(1.0, 2.0, x=XY.T)
def linear_model_by_matmul(X, *beta):
    return X @ np.array(beta)


@model(1.0, 2.0, x=XY.T)
def linear_model_by_stack(X, a, b):
    return X @ np.stack([a, b])


@model(3.0, 0.2, 0.9, 1.0, 0.7, 0.3, 0.1, x=(GX, GY))
def gaussian_of_two_variables(xy, amplitude, xo, yo, sigma_x, sigma_y, theta, offset):
    x, y = xy
    a = (np.cos(theta) ** 2) / (2 * sigma_x**2) + (np.sin(theta) ** 2) / (2 * sigma_y**2)
    b = -(np.sin(2 * theta)) / (4 * sigma_x**2) + (np.sin(2 * theta)) / (4 * sigma_y**2)
    c = (np.sin(theta) ** 2) / (2 * sigma_x**2) + (np.cos(theta) ** 2) / (2 * sigma_y**2)
    g = offset + amplitude * np.exp(
        -(a * ((x - xo) ** 2) + 2 * b * (x - xo) * (y - yo) + c * ((y - yo) ** 2))
    )
    return g.ravel()


@model(3.0, 0.2, 0.9, x=(GX, GY))
def surface(xy, a, b, c):
    x, y = xy
    return a * np.exp(-(x**2)) + b * y + c


@model(3.0, 0.2, x=(GX[0], GY[:, 0]))
def surface_from_axes(axes, a, b):
    x, y = axes
    return (a * np.exp(-(x**2)) * (1.0 + b * y[:, None])).ravel()


@model(3.0, 0.2, x=(GX[0], GY[:, 0]))
def surface_by_outer(axes, a, b):
    return np.outer(1.0 + b * axes[1], a * np.exp(-(axes[0] ** 2)))


@model(3.0, 0.2)
def grid_made_inside(x, a, b):
    u, v = np.meshgrid(x[:5], x[:8])
    return (a * u + b * v).flatten()


@model(1.5, 0.4, 0.9)
def two_data_sets(x, a, b1, b2):
    return np.concatenate([a * np.exp(-b1 * x[:15]), a * np.exp(-b2 * x[15:])])


@model(1.5, 0.4, 0.9)
def two_data_sets_by_append(x, a, b1, b2):
    return np.append(line(x, a, b1), decay(x, a, b2, 0.0))


@model(1.5, 0.4)
def histogram_from_a_distribution(edges, n, rate):
    return n * np.diff(-np.exp(-rate * edges))


@model(1.5, 0.4)
def differences_of_neighbours(x, a, b):
    y = np.exp(a * np.sin(b * x))
    return y[1:] - y[:-1]


@model(1.5, 0.4)
def normalised_to_its_first_point(x, a, b):
    y = a * np.exp(-b * x) + 1.0
    return y / y[0]


@model(1.5, 0.4)
def normalised_in_place(x, a, b):
    y = a * np.exp(-b * x) + 1.0
    y /= y[0]
    return y


@model(1.5, 0.4, fate="native")
def normalised_to_its_sum(x, a, b):
    y = np.exp(-b * np.repeat(x, 4))
    return a * y / y.sum()


@model(1.5, 0.4, x=T[:7])
def few_points_normalised_to_their_sum(x, a, b):
    y = np.exp(-b * x)
    return a * y / y.sum()


@model(1.5, 2.0)
def same_value_everywhere(x, a, b):
    return a * b


@model(1.5, 0.3, x=3.0)
def one_number(x, a, b):
    return a * x + b


@model(1.5, 0.3, x=np.array([3.0]))
def one_point(x, a, b):
    return a * x + b


@model(1.5, 0.3)
def fancy_indices(x, a, b):
    order = np.argsort(-x)
    return (a * x + b)[order] + x[order[::-1]]


@model(1.5, 0.3)
def every_other_point(x, a, b):
    return a * x[::2] ** 2 + (b * x)[::2]


@model(1.5, 0.3)
def integral_along_a_short_axis(x, a, b):
    nodes, weights = np.polynomial.legendre.leggauss(12)
    u = 0.5 * (nodes + 1.0)
    return np.sum(0.5 * weights * np.exp(-a * x[:, None] * u) * np.cos(b * u), axis=1)


@model(1.5, 0.3, fate="native")
def einstein_sum(x, a, b):
    return np.einsum("i,j->i", a * x, np.ones(3)) + b


@model(1.5, 0.3, x=np.arange(1, 12))
def integers(n, a, b):
    return a / n**2 + b * n


@model(1.5, 0.3, x=T.astype(np.float32))
def single_precision(x, a, b):
    return a * np.exp(-b * x.astype(float))


@model(1.5, 0.3, x=list(T))
def list_of_numbers(x, a, b):
    return a * np.array(x) + b


@model(1.5, 0.3, x=T)
def asarray_and_atleast(x, a, b):
    x = np.atleast_1d(np.asarray(x, dtype=float))
    return a * x + b


@model(1.5, 0.3, x=np.ma.masked_array(T, T > 5.0), fate="native")
def masked_array(x, a, b):
    return a * x + b


@model(1.5, 0.3, x=np.asmatrix(T), fate="native")
def matrix(x, a, b):
    return np.asarray(a * x + b)


# Complex values.


@model(100.0, 1e-3)
def magnitude_of_a_filter(f, r, c):
    return np.abs(1.0 / (1.0 + 1j * 2 * np.pi * f * r * c))


@model(2.0, 15.0, 3.0)
def resonator(f, r, q, f0):
    return np.abs(r / (1 + 1j * q * (f / f0 - f0 / f)))


@model(10.0, 50.0, 1e-2, 0.8, x=W)
def impedance_of_a_circuit(omega, r0, r1, tau, alpha):
    z = r0 + r1 / (1 + (1j * omega * tau) ** alpha)
    return np.hstack([z.real, z.imag])


@model(10.0, 50.0, 1e-2, x=W)
def warburg_element(omega, r0, r1, tau):
    s = np.sqrt(1j * omega * tau)
    z = r0 + r1 * np.tanh(s) / s
    return np.concatenate((np.real(z), -np.imag(z)))


@model(1.0, 0.5, 0.3)
def phase_in_degrees(f, a, b, c):
    return np.angle(a + 1j * b * f - c * f**2, deg=True)


@model(1.0, 0.5)
def interference(x, a, phi):
    return np.abs(np.exp(1j * x) + a * np.exp(1j * (2 * x + phi))) ** 2


@model(1.0, 0.5)
def modes_in_a_complex_array(x, a, b):
    z = np.zeros(x.size, dtype=complex)
    for k in range(1, 4):
        z += a * np.exp(1j * k * b * x) / k
    return np.abs(z)


@model(1.0, 0.5)
def complex_choice(x, a, b):
    k = np.where(x > 3, np.sqrt(a * x + 0j), 1j * b * x)
    return np.abs(np.exp(1j * k))


@model(1.0, 0.5)
def viewed_as_real(x, a, b):
    return (a / (1.0 + 1j * b * x)).view(float)


@model(1.0, 0.5, fate="native")
def complex_number_of_python(x, a, b):
    return abs(complex(a, b)) * x


@model(1.0, 0.5, fate="native")
def cmath_of_a_parameter(x, a, b):
    return cmath.exp(1j * a).real * x


@model(1.0, 0.5, fate="native")
def discrete_fourier_transform(x, a, b):
    return np.abs(np.fft.fft(a * np.exp(-b * x)))
