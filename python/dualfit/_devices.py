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
        Number of the device, as in ``backend="cuda:0"``.
    name : str
        Product name.
    memory_total : int
        Total memory in bytes.
    memory_free : int or None
        Free memory in bytes, if known.
    compute_capability : (int, int)
        Major and minor version; (9, 0) is sm_90.
    multiprocessors : int
        Number of multiprocessors.
    driver_version : (int, int)
        CUDA version of the driver.
    nvrtc_version : (int, int) or None
        Version of the compiler, if there is one.
    problem : str or None
        Reason why the device cannot be used, or None.
    text : str
        All of this information on one line.
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
    """Return the CUDA devices in the order of their numbers; an empty list if there is no driver.

    Examples
    --------
    >>> import dualfit
    >>> for device in dualfit.devices():
    ...     print(device)
    """
    return [DeviceInfo(**found) for found in _core.devices()]


#: Folders of the libraries in the wheels of CUDA 13 and 12, on Linux and on Windows.
_LIBRARIES = (("cu13", "lib"), ("cu13", "bin", "x86_64"), ("cu13", "bin"), ("cuda_nvrtc", "lib"), ("cuda_nvrtc", "bin"))


def find_nvrtc() -> None:
    """Set ``DUALFIT_NVRTC`` to the folder of NVRTC's wheel (``pip install dualfit[cuda]``), unless it is set."""
    if "DUALFIT_NVRTC" in os.environ:
        return
    nvidia = importlib.util.find_spec("nvidia")
    roots = list(nvidia.submodule_search_locations or []) if nvidia is not None else []
    folders = [os.path.join(root, *part) for root in roots for part in _LIBRARIES]
    found = [folder for folder in folders if os.path.isdir(folder)]
    if found:
        os.environ["DUALFIT_NVRTC"] = os.pathsep.join(found)


find_nvrtc()
