"""Configuration of the documentation."""

import iirl_opt

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
