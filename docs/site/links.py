"""Check the links inside a built site: python links.py FOLDER."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Anchors and link targets of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value:
                self.targets.append(value)


def main(folder: Path) -> None:
    """Print the broken links, and fail if there are some."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")
             if "_static" not in path.parts}
    broken, count = [], 0
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
                broken.append(f"{path.relative_to(folder.resolve())}: {target}")
    print(f"{len(pages)} pages, {count} links inside the site, {len(broken)} of them broken")
    if broken or not count:
        sys.exit("\n".join(broken))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
