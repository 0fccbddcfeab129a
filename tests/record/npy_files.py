"""Array files as NumPy writes them, for tests/readers. Usage: npy_files.py <folder>

Point i of a table is (i / 2 - 3, i * i, 100 - 7 i); a column of integers of a type is its smallest
value, i * 11 % 100 between, and its largest value.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

N = 23


def save(path, array, version=None):
    with open(path, "wb") as file:
        npy.write_array(file, array, version=version)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    i = np.arange(N)
    table = np.stack([i / 2 - 3, i * i, 100 - 7 * i], axis=1)
    save(folder / "table_f8.npy", table.astype("<f8"))
    save(folder / "table_f8_big.npy", table.astype(">f8"))
    save(folder / "table_f8_fortran.npy", np.asfortranarray(table.astype("<f8")))
    save(folder / "table_f4.npy", table.astype("<f4"))
    save(folder / "table_f4_big_fortran.npy", np.asfortranarray(table.astype(">f4")))
    save(folder / "table_v2.npy", table, (2, 0))
    save(folder / "table_v3.npy", table, (3, 0))
    save(folder / "one_row.npy", table[:1].copy())
    save(folder / "no_rows.npy", table[:0].copy())
    save(folder / "column_f8.npy", table[:, 0].copy())
    save(folder / "column_f4_big.npy", table[:, 2].astype(">f4"))
    for kind in "i1 u1 i2 u2 i4 u4 i8 u8".split():
        column = i * 11 % 100
        column = column.astype(np.dtype(kind))
        limits = np.iinfo(np.dtype(kind))
        column[0], column[-1] = limits.min, limits.max
        save(folder / f"column_{kind}.npy", column)
        save(folder / f"column_{kind}_big.npy", column.astype(">" + kind))
    save(folder / "complex.npy", table.astype("<c16"))
    save(folder / "cube.npy", table.reshape(N, 3, 1))
    save(folder / "scalar.npy", np.array(3.0))
    save(folder / "named.npy", np.zeros(4, dtype=[("t", "<f8"), ("y", "<f4")]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
