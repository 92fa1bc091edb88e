"""How pages are dressed: formulas of the theory page, and the language of blocks of code."""

import ast
import re

import notation
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

THEORY = "docs/theory"
NUMBER = re.compile(r"\s+\((?P<number>[A-Z]?\d+[a-z]?)\)$")
LEAVE = (nodes.literal, nodes.reference, nodes.raw, nodes.title, nodes.literal_block)

log = logging.getLogger(__name__)


def _raw(text):
    return nodes.raw("", text, format="html")


def _formula_lines(block):
    """A block of formulas: a line each, with its number at the right."""
    rows = []
    for line in block.splitlines():
        if not line.strip():
            continue
        number = NUMBER.search(line)
        formula = NUMBER.sub("", line)
        anchor, shown = "", ""
        if number:
            shown = f"({number['number']})"
            anchor = f' id="equation-{number["number"]}"'
        rows.append(
            f'<div class="formula"{anchor}><div>{notation.mathml(formula.strip(), True)}</div>'
            f"<span>{shown}</span></div>"
        )
    return _raw("".join(rows))


class Formulas(SphinxTransform):
    """Typesets the plain formulas of the theory page: its indented blocks, and those in its text."""

    default_priority = 700

    def apply(self):
        if self.env.docname != THEORY:
            return
        for block in list(self.document.findall(nodes.literal_block)):
            try:
                block.replace_self(_formula_lines(block.astext()))
            except notation.Unclear as error:
                log.warning("%s", error, location=block)
        references = False
        for text in list(self.document.findall(nodes.Text)):
            parent = text.parent
            section = next((n for n in _above(text) if isinstance(n, nodes.section)), None)
            references = section is not None and "references" in section["ids"]
            if references or any(isinstance(node, LEAVE) for node in _above(text)):
                continue
            pieces = notation.in_prose(text.astext())
            if any(is_formula for is_formula, _ in pieces):
                parent.replace(text, self._prose(pieces))

    def _prose(self, pieces):
        """Text and formulas; what ends a clause stays on the line of the formula before it."""
        found, ends = [], ""
        for at, (is_formula, text) in enumerate(pieces):
            text, ends = text[len(ends) :], ""
            if not is_formula:
                found.append(nodes.Text(text))
                continue
            try:
                formula = notation.mathml(text)
            except notation.Unclear:
                found.append(nodes.Text(text))  # it stands as it is written
                continue
            behind = pieces[at + 1] if at + 1 < len(pieces) else (True, "")
            ends = "" if behind[0] else re.match(r"[.,;:)]*", behind[1])[0]
            found.append(_raw(f'<span class="kept">{formula}{ends}</span>' if ends else formula))
        return found


def _above(node):
    while node.parent is not None:
        node = node.parent
        yield node


def _language(code):
    first = code.lstrip()
    if re.match(r"\$ ", first):
        return "console"
    if re.match(r"(kerbin|make|pip|scripts/\S+|cmake|export|cd|apt-get|git) ", first):
        return "bash"
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    calls = any(isinstance(node, ast.Call | ast.Import | ast.Attribute) for node in ast.walk(tree))
    return "python" if calls else None


class Languages(SphinxTransform):
    """The language of blocks that do not name one, where it is plain."""

    default_priority = 690

    def apply(self):
        if self.env.docname == THEORY:
            return
        for block in self.document.findall(nodes.literal_block):
            if block.get("language", "none") in ("none", "default"):
                language = _language(block.astext())
                if language:
                    block["language"] = language


def setup(app):
    app.add_transform(Formulas)
    app.add_transform(Languages)
    return {"parallel_read_safe": True}
