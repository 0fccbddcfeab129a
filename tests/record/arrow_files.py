"""Parquet and Arrow files as pyarrow writes them, for tests/readers. Usage: arrow_files.py <folder>

Row i: t = i / 2 - 3, name = a word, signal = 100 - 7 i as float32, null where i % 5 == 4, error = 1 + i,
count = i * 11 as uint16, big = 2^40 i as int64, when = a time. Rows go in groups, or batches, of 10.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq

N, GROUP = 37, 10


def table():
    rows = range(N)
    return pa.table({
        "t": pa.array([i / 2 - 3 for i in rows], pa.float64()),
        "name": pa.array([f"row {i}" for i in rows]),
        "signal": pa.array([None if i % 5 == 4 else 100 - 7 * i for i in rows], pa.float32()),
        "error": pa.array([1.0 + i for i in rows], pa.float64()),
        "count": pa.array([i * 11 for i in rows], pa.uint16()),
        "big": pa.array([2**40 * i for i in rows], pa.int64()),
        "when": pa.array(rows, pa.timestamp("ms")),
        "kind": pa.array(["ab"[i % 2] for i in rows]).dictionary_encode(),
    })


def main(folder):
    data = table()
    for name, options in {
        "plain": {"compression": "none", "use_dictionary": False},
        "snappy": {"compression": "snappy"},
        "zstd": {"compression": "zstd", "data_page_version": "2.0"},
        "split": {"compression": "none", "use_dictionary": False,
                  "column_encoding": {"t": "BYTE_STREAM_SPLIT", "big": "DELTA_BINARY_PACKED"}},
    }.items():
        pq.write_table(data, folder / f"{name}.parquet", row_group_size=GROUP, **options)
    pq.write_table(data.slice(0, 0), folder / "none.parquet")
    for name, compression in {"plain": None, "lz4": "lz4", "zstd": "zstd"}.items():
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_file(folder / f"{name}.arrow", data.schema, options=options) as writer:
            writer.write_table(data, max_chunksize=GROUP)
    with pa.ipc.new_stream(folder / "stream.arrows", data.schema) as writer:
        writer.write_table(data, max_chunksize=GROUP)
    with pa.ipc.new_file(folder / "none.arrow", data.schema) as writer:
        writer.write_table(data.slice(0, 0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
