"""Sphinx's configuration; docs/site/build calls it."""

import importlib.util
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

project = "kerbin"
version = release = __import__("kerbin").__version__
author = copyright = "the kerbin authors"
html_title = f"kerbin {version}"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "dress"]

# Markdown as it is read elsewhere: anchors of headings are those of other readers.
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]
highlight_language = "none"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
# C has no namespace for these, and other libraries are not linked to.
c_id_attributes = ["KB_API"]
toc_object_entries_show_parents = "hide"

# No fonts, scripts or pictures from elsewhere: the font for formulas is a file of the site,
# the search works on files without a server.
html_theme = "furo"
ziamath = pathlib.Path(importlib.util.find_spec("ziamath").origin).parent
html_static_path = ["site.css", str(ziamath / "fonts" / "STIXTwoMath-Regular.ttf")]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0072b2"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}


def plain_signs(app, what, name, obj, options, lines):
    """In docstrings `|x-y|`, `tmp_*` and `trials_` are no markup."""
    for at, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = re.split(r"(``.*?``|`.*?`|\*\*\w+)", line)
            pieces[::2] = [re.sub(r"([|*]|(?<=\w)_(?=[.,;]|$| (?!:)))", r"\\\1", piece) for piece in pieces[::2]]
            lines[at] = "".join(pieces)


def setup(app):
    app.connect("autodoc-process-docstring", plain_signs, priority=400)
