"""The gallery: how the documentation runs the scripts of examples/ and shows what they print.

Each script runs in the order of its folder, with warnings as errors, and a script that fails ends
the build: no other run of the examples is needed. A picture is what a script saves, as it would for
its user.
"""

import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

__all__ = ["SETTINGS", "scrape", "strict"]

# The three jobs, what stands on them, and what comes from other programs.
GROUPS = ("compose", "verify", "property_test", "learn", "elsewhere")

SETTINGS: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "subsection_order": [f"../examples/{group}" for group in GROUPS],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "image_scrapers": ("gallery.scrape",),
    "reset_modules": ("gallery.strict",),
    "reset_modules_order": "both",
    # What is shown is what the script prints; and an object's own table, where it ends a block.
    "capture_repr": ("_repr_html_",),
    # A page is a story; the script is in the checkout and the sdist, and one link below.
    "download_all_examples": False,
    "notebook_extensions": set(),
    "show_signature": False,
    # Pages do not depend on how busy the machine was.
    "min_reported_time": 1e9,
    "write_computation_times": False,
    # Pages of the reference name the stories that use them by themselves (_ext/stories.py).
    "backreferences_dir": None,
}


def scrape(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Move the pictures that a block has saved beside its script into the page."""
    saved = sorted(Path(variables["src_file"]).parent.glob("*.png"))
    pages = []
    for path, place in zip(saved, variables["image_path_iterator"], strict=False):
        path.replace(place)
        text = path.stem.replace("-", " ").capitalize()
        pages.append(figure_rst([place], settings["src_dir"], text))
    return "".join(pages)


def strict(settings: dict[str, Any], name: str | None, when: str) -> None:
    """Make warnings errors while a script runs, and only then."""
    HELD.close()
    if name is not None and when == "before":
        HELD.enter_context(warnings.catch_warnings(action="error"))


# What holds while a script runs.
HELD = ExitStack()
