"""Configuration of the documentation; the reference is written from the lists of public names."""

import sys
from pathlib import Path

import iirl_opt

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_ext")]

from gallery import SETTINGS as sphinx_gallery_conf  # noqa: E402, F401
from reference_pages import write_reference  # noqa: E402

write_reference(HERE / "api")

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
    "docstrings",
    "names",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "statements",
]
default_role = "py:obj"
exclude_patterns = ["_build"]
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
nitpicky = True
python_maximum_signature_line_length = 80
autodoc_preserve_defaults = True

toc_object_entries_show_parents = "hide"

# Formulas are set by a copy of MathJax in the repository, so pages read offline.
mathjax_path = "mathjax/startup.js"
mathjax3_config = {"loader": {"load": ["input/tex", "output/svg", "a11y/assistive-mml"]}}

# What is copied is what is typed: without prompts, and without what was answered.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# A page that does a job comes before the methods whose names hold a word.
html_search_scorer = str(HERE / "_ext" / "scorer.js")

html_theme = "pydata_sphinx_theme"
html_title = "iirl_opt"
html_theme_options = {
    "collapse_navigation": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
}
# Pages that have none below them have no bar that would list these.
html_sidebars = {"**": ["sidebar-nav-bs.html"]} | {
    page: [] for page in ("index", "search", "genindex", "tutorial", "mathematics")
}
html_static_path = ["_static"]
html_css_files = ["reference.css", "gallery.css"]
html_show_sourcelink = False
html_copy_source = False
# The reference is the index of modules.
html_domain_indices = False
