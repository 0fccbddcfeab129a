"""A distributed fit of four million points. Each part computes its points from their numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

POINTS = 4_000_000
START = {"amplitude": 2.5, "rate": 0.4, "wave": 0.35, "frequency": 1.68}


def model(x, amplitude, rate, wave, frequency):
    """Return a decay plus a wave."""
    return amplitude * np.exp(-rate * x) + wave * np.sin(frequency * x)


def points(first: int, end: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x and y of the points `first` to `end` - 1. The scatter of a point depends only on its number."""
    number = np.arange(first, end, dtype=np.uint64)
    x = 10.0 * number.astype(np.float64) / POINTS
    # A counter mixed by the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    z = number * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scatter = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) / 2.0**53 - 0.5
    # Only products, quotients and sums: other functions of NumPy may round differently at the end of an array.
    curve = 2.0 / (1.0 + 0.5 * x) + 0.1 * x * (3.0 - 0.3 * x)
    return x, curve + 0.05 * scatter


def shown(params: NDArray[np.float64]) -> str:
    """Format the parameters with all their bits."""
    return " ".join(value.hex() for value in params.tolist())
