"""Configuration of the documentation; the reference is written from the lists of public names."""

import sys
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import iirl_opt

sys.path.insert(0, str(Path(__file__).parent))
from gallery import SETTINGS as sphinx_gallery_conf  # noqa: F401

# In the order of the house: what stands first imports nothing of what stands later.
ORDER = """errors printing game follower observation certificate solver occupancy rewards
commitment verification learn bayesian plot formats library testing claims experiments play"""

PAGE = """{title}
{line}

{text}

.. currentmodule:: {name}

.. autosummary::
   :toctree: .

{names}
"""


def write_reference(folder: Path) -> None:
    """Write a page a room, with all that its list of public names holds, and the table of rooms."""
    folder.mkdir(exist_ok=True)
    rows = [".. list-table::", "   :header-rows: 1", "", "   * - room", "     - everyday names"]
    for room in ORDER.split():
        offered = import_module(f"iirl_opt.{room}").__all__
        everyday = [
            f":obj:`~iirl_opt.{room}.{name}`" for name in offered if name in iirl_opt.__all__
        ]
        rows += [f"   * - :doc:`{room} <api/{room}>`", f"     - {', '.join(everyday) or '–'}"]
    (folder / "rooms.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for room in ORDER.split():
        name = f"iirl_opt.{room}"
        module = import_module(name)
        names = "\n".join(f"   {part}" for part in module.__all__)
        page = PAGE.format(
            title=room, line="=" * len(room), text=getdoc(module), name=name, names=names
        )
        (folder / f"{room}.rst").write_text(page, encoding="utf-8")


write_reference(Path(__file__).parent / "api")

project = "iirl_opt"
author = "The iirl_opt authors"
copyright = "2026, the iirl_opt authors"
release = version = iirl_opt.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "statements",
]
default_role = "autolink"
exclude_patterns = ["_build"]
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
numpydoc_show_class_members = False
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = "iirl_opt"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_static_path: list[str] = []
