"""The CUDA devices of this machine, and the compiler of their kernels."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass

from . import _core


@dataclass(frozen=True)
class DeviceInfo:
    """A CUDA device.

    Attributes
    ----------
    number : int
        As in ``backend="cuda:0"``.
    name : str
        The product's name.
    memory_total : int
        Bytes of its memory.
    memory_free : int or None
        Bytes that no process uses, where the device says so.
    compute_capability : (int, int)
        Major and minor; (9, 0) is sm_90.
    multiprocessors : int
        How many there are.
    driver_version : (int, int)
        Of CUDA, that the driver speaks.
    nvrtc_version : (int, int) or None
        Of the compiler, where there is one.
    problem : str or None
        Why nothing can be computed on it, if so.
    text : str
        All of that on one line.
    """

    number: int
    name: str
    memory_total: int
    memory_free: int | None
    compute_capability: tuple[int, int]
    multiprocessors: int
    driver_version: tuple[int, int]
    nvrtc_version: tuple[int, int] | None
    problem: str | None
    text: str

    def __str__(self) -> str:
        return self.text


def devices() -> list[DeviceInfo]:
    """The CUDA devices, by their numbers; none where there is no driver.

    Examples
    --------
    >>> import dualfit
    >>> for device in dualfit.devices():
    ...     print(device)
    """
    return [DeviceInfo(**found) for found in _core.devices()]


#: Where the wheels of CUDA 13 and 12 have their libraries, on Linux and on Windows.
_LIBRARIES = (("cu13", "lib"), ("cu13", "bin", "x86_64"), ("cu13", "bin"), ("cuda_nvrtc", "lib"), ("cuda_nvrtc", "bin"))


def find_nvrtc() -> None:
    """Says where NVRTC's wheel is, ``pip install dualfit[cuda]``, unless ``DUALFIT_NVRTC`` says something else."""
    if "DUALFIT_NVRTC" in os.environ:
        return
    nvidia = importlib.util.find_spec("nvidia")
    roots = list(nvidia.submodule_search_locations or []) if nvidia is not None else []
    folders = [os.path.join(root, *part) for root in roots for part in _LIBRARIES]
    found = [folder for folder in folders if os.path.isdir(folder)]
    if found:
        os.environ["DUALFIT_NVRTC"] = os.pathsep.join(found)


find_nvrtc()
