"""Configuration of the documentation site.

The guide exists once, in `docs`, `docs/guide` and `python`. A build writes its pages, with links that fit the site, to the
folder `pages` beside the pages of the site itself.
"""

import os
import re
from pathlib import Path

import matplotlib
from docutils import nodes
from sphinx import addnodes

import dualfit

SITE = Path(__file__).parent
REPOSITORY = SITE.parents[1]

project = "dualfit"
author = "The dualfit developers"
copyright = author
version = release = dualfit.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "tasks/**/*.ipynb"]
default_role = "py:obj"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True

templates_path = ["templates"]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "dualfit"
html_static_path = ["static"]
# The page that fits in the browser, in the folder `fit` of the site: built by crates/web/build.
html_extra_path = ["../../target/web/page"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_search_scorer = str(SITE / "search_scorer.js")
html_copy_source = False
html_sidebars = {"index": [], "pages/benchmarks": []}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
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
    "min_reported_time": 60,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

# Registries have pages of the package only after its publication.
linkcheck_ignore = [r"https://docs\.rs/(crate/)?dualfit", r"https://crates\.io/crates/dualfit", r"https://pypi\.org/project/dualfit"]
linkcheck_anchors = False
linkcheck_timeout = 20


# The pages of the guide by their files: the guide itself, and pages of reference.
PAGES = {file: f"pages/guide/{file.name}" for file in sorted((REPOSITORY / "docs/guide").glob("*.md"))}
PAGES |= {file: f"pages/{file.name}" for file in sorted((REPOSITORY / "docs").glob("*.md"))}
PAGES[REPOSITORY / "python/README.md"] = "pages/python_package.md"
PAGES[REPOSITORY / "python/docs/from_lmfit.md"] = "pages/from_lmfit.md"
PAGES[REPOSITORY / "python/docs/tour.ipynb"] = "pages/python_tour.ipynb"

REFERENCE = re.compile(r"\[([^\[\]]*)\]\[([^\[\]]+)\]")
DEFINITION = re.compile(r"^\[[^\]]+\]: \S+\n?", re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
BLOCK = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def converted_link(match: re.Match[str], folder: Path) -> str:
    """Convert a link from a page in `folder`: to a page of the site, to a picture or download, or to plain text."""
    mark, label, target = match.groups()
    path, _, fragment = target.partition("#")
    file = (folder / path).resolve()
    if not path or ":" in target or not file.exists():
        return match.group()
    if file in PAGES:
        return f"[{label}](/{PAGES[file]}{'#' + fragment if fragment else ''})"
    if mark or file.parent.name in ("examples", "pictures"):
        return f"{mark}[{label}](/{os.path.relpath(file, SITE)})"
    return label


def converted(page: Path) -> str:
    """Convert the links of a page, and remove the lines of its Rust examples that rustdoc hides."""
    if page.suffix == ".ipynb":
        return page.read_text(encoding="utf-8")
    parts = BLOCK.split(page.read_text(encoding="utf-8"))
    for k, part in enumerate(parts):
        if k % 2 == 0:
            links = REFERENCE.sub(r"[\1](\2)", DEFINITION.sub("", part))
            parts[k] = LINK.sub(lambda match: converted_link(match, page.parent), links)
        elif part.startswith("```rust"):
            parts[k] = re.sub(r"^# .*\n", "", re.sub(r"^```rust.*", "```rust", part), flags=re.MULTILINE)
    return "".join(parts)


for page, name in PAGES.items():
    place, text = SITE / name, converted(page)
    place.parent.mkdir(parents=True, exist_ok=True)
    # Sphinx reads pages again that were written.
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        place.write_text(text, encoding="utf-8")


def without_arguments(app: object, what: str, name: str, item: object, options: object, signature: str | None,
                      returned: str | None) -> tuple[str, None] | None:
    """Hide the arguments of classes that only functions of the package create."""
    is_hidden = what in ("class", "exception") and name not in ("dualfit.Model", "dualfit.Part")
    return ("", None) if is_hidden and signature else None


def lead_to_section(app: object, page: nodes.document) -> None:
    """Let the entries of `index` directives lead to their section, whose text a search then shows."""
    for node in page.findall(addnodes.index):
        if isinstance(node.parent, nodes.section):
            section = node.parent["ids"][0]
            node["entries"] = [(kind, text, section if target.startswith("index-") else target, *rest)
                               for kind, text, target, *rest in node["entries"]]


def setup(app: object) -> None:
    """Connect the changes of signatures and of index entries."""
    app.connect("doctree-read", lead_to_section)
    app.connect("autodoc-process-signature", without_arguments)
