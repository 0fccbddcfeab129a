"""Run the Python code of documents as a reader would paste it: the blocks of a file in order, in one namespace.

python blocks.py README.md [more.md ...]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def blocks(path: Path) -> list[tuple[int, str]]:
    """Return the code blocks marked as Python, each with the number of its first line."""
    text = path.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in found]


def run(path: Path) -> int:
    """Run the blocks of a file, and return their number."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    found = blocks(path)
    for line, code in found:
        # Empty lines before the code, so that exceptions contain the line numbers of the file.
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), namespace)
    return len(found)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        count = run(Path(name))
        print(f"{name}: {count} blocks ran")
        if not count:
            sys.exit(f"{name} has no Python")
