"""Recompresses the entries of wheels: `python recompress.py WHEEL...`.

The deflate streams of zopfli are shorter than those of zlib, and every reader of ZIP archives decompresses them. Names,
order, dates, permissions and contents of the entries do not change; therefore the hashes in RECORD remain valid.
"""

import os
import sys
import zipfile

import zopfli.zlib


class Compressor:
    """A compressor for `zipfile`, which returns the stream of an entry at its end."""

    def __init__(self, *settings: object) -> None:
        self.contents = bytearray()

    def compress(self, part: bytes) -> bytes:
        self.contents += part
        return b""

    def flush(self) -> bytes:
        # A stream for `zlib` has a header of two bytes and a checksum of four.
        return zopfli.zlib.compress(bytes(self.contents), numiterations=5, blocksplittingmax=0)[2:-4]


def recompress(wheel: str) -> None:
    """Replaces the wheel."""
    smaller = f"{wheel}.part"
    # `zipfile` has no public way to set the compressor.
    zipfile._get_compressor = Compressor
    with zipfile.ZipFile(wheel) as entries, zipfile.ZipFile(smaller, "w") as out:
        for entry in entries.infolist():
            out.writestr(entry, entries.read(entry))
    os.replace(smaller, wheel)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        recompress(path)
