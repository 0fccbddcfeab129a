"""Configuration of the documentation site.

The guide exists once, in `docs/`, `docs/guide` and `python/docs`. This folder has links to these pages beside its own
pages. Links in the guide are relative to the true location of its pages; `read_page` converts them for the site.
"""

import os
import re
from pathlib import Path

import matplotlib

import dualfit

SITE = Path(__file__).parent
REPOSITORY = SITE.parents[1]

project = "dualfit"
author = "The dualfit developers"
copyright = author
version = release = dualfit.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "README.md"]
default_role = "py:obj"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

templates_path = ["templates"]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "dualfit"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "choose": [], "tasks/index": [], "benchmarks": []}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

matplotlib.use("Agg")
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "tasks",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

# Registries have pages of the package only after its publication.
linkcheck_ignore = [r"https://docs\.rs/(crate/)?dualfit", r"https://crates\.io/crates/dualfit", r"https://pypi\.org/project/dualfit"]
linkcheck_anchors = False
linkcheck_timeout = 20


def pages() -> dict[Path, str]:
    """Return the name of each Markdown page on the site, by the true location of its file."""
    found = {}
    for folder, _, files in os.walk(SITE, followlinks=True):
        for file in sorted(files):
            path = Path(folder, file)
            if path.suffix == ".md" and not {"_build", "gallery", "tasks"} & set(path.relative_to(SITE).parts):
                found[path.resolve()] = path.relative_to(SITE).as_posix()
    return found


PAGES = pages()
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
REFERENCE = re.compile(r"(!?)\[([^\[\]]*)\]\[([^\[\]]+)\]")
DEFINITION = re.compile(r"^\[[^\]]+\]: \S+\n?", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def converted(text: str, folder: Path) -> str:
    """Convert the relative links of a page: to the pages of the site, to downloads of examples, or to plain text."""

    def link(match: re.Match[str]) -> str:
        mark, label, target = match.groups()
        path, _, fragment = target.partition("#")
        file = (folder / path).resolve()
        if not path or ":" in target or target.startswith("/") or not file.exists():
            return match.group()
        if file in PAGES:
            return f"[{label}](/{PAGES[file]}{'#' + fragment if fragment else ''})"
        if mark or file.suffix == ".ipynb" or file.parent.name in ("examples", "pictures"):
            return f"{mark}[{label}](/{os.path.relpath(file, SITE)})"
        return label

    text = REFERENCE.sub(r"\1[\2](\3)", text)
    return LINK.sub(link, DEFINITION.sub("", text))


def read_page(app: object, name: str, source: list[str]) -> None:
    """Convert links outside of code blocks, and remove the lines of Rust examples that rustdoc hides."""
    file = (SITE / f"{name}.md").resolve()
    if file not in PAGES:
        return
    text, at, parts = source[0], 0, []
    for block in BLOCK.finditer(text):
        parts.append(converted(text[at:block.start()], file.parent))
        code = block.group()
        parts.append(re.sub(r"^# .*\n", "", code, flags=re.MULTILINE) if code.startswith("```rust") else code)
        at = block.end()
    source[0] = "".join([*parts, converted(text[at:], file.parent)])


def setup(app: object) -> None:
    """Connect the conversion of pages."""
    app.connect("source-read", read_page)
