"""The C reference as reStructuredText, from the comments of include/kerbin.h.

A comment that ends on the line above a declaration belongs to it, and so does one behind a member.
Declarations without a comment follow the one above them.  What the header holds in another form is
an error, so nothing public is left out.
"""

import re

SECTION = re.compile(r"/\* -{2,} (\w+) -+ \*/")
INTERNAL = ("KB_TEXT_OF", "KB_API")


class Unknown(ValueError):
    """A part of the header that this reader does not know."""


def _comment(text):
    """The words of a comment, without its stars."""
    inside = re.sub(r"^/\*|\*/$", "", text.strip())
    return "\n".join(re.sub(r"^ *\* ?", "", line).rstrip() for line in inside.splitlines()).strip()


def _rest(words, known):
    """A comment as reStructuredText: code, links to what is declared, all else as it stands."""

    def piece(found):
        quoted, code, name, other = found.groups()
        if quoted is not None:
            return quoted
        if code is not None:
            role = known.get(code)
            return f":c:{role}:`{code}`" if role else f"``{code}``"
        if name is not None:
            bare, call = name.removesuffix("()"), name.endswith("()")
            role = known.get(bare)
            if role is None:
                return f"``{name}``" if name.startswith(("kb_", "KB_")) and call else name
            return f":c:{role}:`{bare}`"
        return "\\" + other

    def line(text):
        return re.sub(r"(\"KB_\w+\")|`([^`]+)`|\b((?:kb|KB)_\w+(?<!_)(?:\(\))?)|([*|`<>\\_])", piece, text)

    paragraphs = re.split(r"\n\s*\n", words)
    found = []
    for paragraph in paragraphs:
        if paragraph.startswith("    "):
            code = [text[4:] for text in paragraph.split("\n")]
            found.append(".. code-block:: c\n\n" + "\n".join("   " + text for text in code))
        else:
            found.append(line(" ".join(paragraph.split())))
    return "\n\n".join(found)


def _indent(text, by=3):
    return "\n".join(" " * by + line if line else "" for line in text.split("\n"))


def _directive(kind, signature, body=""):
    signature = " ".join(signature.split())
    return f".. c:{kind}:: {signature}\n" + (f"\n{_indent(body)}\n" if body else "")


def _pieces(text):
    """Comments and declarations of the header, in order: (kind, text, line number)."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        line = text.count("\n", 0, at) + 1
        if text.startswith("/*", at):
            end = text.index("*/", at) + 2
            kind = "comment"
        elif text[at] == "#":
            end = re.compile(r"(?:\\\n|[^\n])*").match(text, at).end()
            kind = "macro"
        else:
            end, depth = at, 0
            while depth or text[end] not in ";}" or text[end] == "}":
                if text.startswith("/*", end):
                    end = text.index("*/", end)
                depth += (text[end] == "{") - (text[end] == "}")
                end += 1
            end += 1
            kind = "declaration"
        yield kind, text[at:end], line
        at = end


def _members(body, end):
    """(text, comment) of each member; a member ends with `end`, its comment is above or behind."""
    found, pending, text, last = [], [], "", 0
    for part in re.finditer(rf"(?P<comment>/\*.*?\*/)|(?P<end>{end}|\Z)|.", body, re.S):
        if part["comment"]:
            behind = not text.strip() and found and "\n" not in body[last : part.start()]
            (found[-1][1] if behind else pending).append(_comment(part["comment"]))
        elif part["end"] is None:
            text += part[0]
        elif text.strip():
            found.append((" ".join(text.split()), pending))
            text, pending, last = "", [], part.end()
    return [(text, " ".join(words)) for text, words in found]


def _single(declaration):
    """`const char *a, *b` as two declarations."""
    if "(" in declaration or "," not in declaration:
        return [declaration]
    kind, names = re.fullmatch(r"((?:const )?\w+) (.*)", declaration).groups()
    return [f"{kind} {name.strip()}" for name in names.split(",")]


def _known(text):
    """The role of each declared name."""
    roles = {name: "func" for name in re.findall(r"^KB_API [^;]*?\b(kb_\w+)\(", text, re.M)}
    roles.update((n, "struct") for n in re.findall(r"^typedef struct (kb_\w+)", text, re.M))
    roles.update((n, "enum") for n in re.findall(r"^typedef enum (kb_\w+)", text, re.M))
    roles.update((n, "type") for n in re.findall(r"^typedef kb_status (kb_\w+)\(", text, re.M))
    macros = re.findall(r"^#define (KB_\w+)", text, re.M)
    roles.update((name, "macro") for name in macros if not name.startswith(INTERNAL))
    for body in re.findall(r"^typedef enum \w+ \{(.*?)\} ", text, re.M | re.S):
        roles.update((n, "enumerator") for n in re.findall(r"\b(KB_\w+) =", body))
    return roles


def _declare(kind, text, words, known):
    """One declaration with its comment."""
    body = _rest(words, known)
    if kind == "macro":
        name = re.match(r"#define (\w+(?:\([^)]*\))?)", text)[1]
        return _directive("macro", name, body)
    text = text.rstrip(";").strip()
    if text.startswith("KB_API "):
        return _directive("function", text.removeprefix("KB_API "), body)
    opaque = re.fullmatch(r"typedef struct (\w+) \1", text)
    if opaque:
        return _directive("struct", opaque[1], body)
    block = re.fullmatch(r"typedef (struct|enum) (\w+) \{(.*)\} \2", text, re.S)
    if block:
        shape, name, inside = block.groups()
        parts = [body] if body else []
        for member, comment in _members(inside, "," if shape == "enum" else ";"):
            shown = _rest(comment, known)
            if shape == "enum":
                parts.append(_directive("enumerator", member.split("=")[0].strip(), shown))
                continue
            single = _single(member)
            for each in single:
                parts.append(_directive("member", each, shown if each is single[-1] else ""))
        return _directive(shape, name, "\n\n".join(parts))
    function = re.fullmatch(r"typedef (kb_status) (kb_\w+)(\(.*\))", text, re.S)
    if function:
        return _directive("type", f"{function[1]} {function[2]}{function[3]}", body)
    raise Unknown(text)


def reference(header):
    """The page for the text of kerbin.h."""
    known = _known(header)
    begin, end = header.index("#define KB_VERSION_MAJOR"), header.rindex("#ifdef __cplusplus")
    intro = _comment(header[: header.index("#ifndef KERBIN_H")])
    intro = intro.split("\n", 1)[1].strip()
    out = ["C interface", "===========", "", _rest(intro, known), ""]
    out += ["The header is :download:`kerbin.h <../include/kerbin.h>`.", ""]
    out += ["Version", "-------", ""]
    arrow = re.compile(r"/\* The structures of the Arrow C data.*?^#endif\n", re.M | re.S)
    body = arrow.sub("", header[begin:end])
    body = re.sub(r"^#if defined\(__GNUC__\).*?^#endif\n", "", body, flags=re.M | re.S)
    words, after = "", 0
    for kind, text, line in _pieces(body):
        section = SECTION.fullmatch(text)
        if section:
            title = section[1].capitalize()
            out += [title, "-" * len(title), ""]
            words = ""
        elif kind == "comment":
            words, after = _comment(text), line + text.count("\n") + 1
        elif kind == "macro" and text.removeprefix("#define ").startswith(INTERNAL):
            words = ""
        else:
            mine = words if line == after else ""
            if words and not mine:
                out += [_rest(words, known), ""]
            out += [_declare(kind, text, mine, known), ""]
            words = ""
    page = "\n".join(out)
    missing = [name for name in known if not re.search(rf"^ *\.\. c:\w+:: .*\b{name}\b", page, re.M)]
    if missing:
        raise Unknown("not in the reference: " + ", ".join(missing))
    return page
