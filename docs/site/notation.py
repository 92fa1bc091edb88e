"""The plain notation of docs/theory.md, typeset as MathML.

    sum_i s_i L(w'z_i, y_i)        a name of one letter, with an index after _ and primes
    lambda/2 |w|^2                 Greek letters by name; a / b is a fraction where there is room
    integral from t to inf of ..   also sum, product, mean, min, max over .. of
    P(same bin | delta)            other words stand as they are

`mathml` takes one formula and raises Unclear, with the place, for what it cannot read.  It writes
presentation MathML, which browsers show without scripts or fonts.
"""

import html
import re

GREEK = dict(
    zip(
        "alpha beta gamma delta eta kappa lambda nu rho sigma tau Lambda".split(),
        "\u03b1\u03b2\u03b3\u03b4\u03b7\u03ba\u03bb\u03bd\u03c1\u03c3\u03c4\u039b",
    )
)
FUNCTIONS = set("exp log sin floor diag soft sqrt grad max min".split())
LARGE = {"sum": "\u2211", "product": "\u220f", "integral": "\u222b", "mean": None, "min": None}
LARGE["max"] = None
SIGNS = {
    "<=": "\u2264",
    ">=": "\u2265",
    "<-": "\u2190",
    "->": "\u2192",
    "..": "\u2026",
    "-": "\u2212",
    "*": "\u00b7",
}
NAME = "|".join([*GREEK, "inf", "[A-Za-z]"])
INDEX = "[A-Za-z0-9]+"
TOKEN = re.compile(
    rf"""(?P<space>\s+)
    |(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)
    |(?P<name>(?:{NAME})(?:-bar)?(?![A-Za-z]|-[a-z]))
    |(?P<word>[A-Za-z]+(?:-[a-z]+)*)
    |(?P<prime>'+)
    |(?P<index>_{INDEX})
    |(?P<sign><=|>=|<-|->|\.\.|[-+*/=<>,.;:^|()\[\]%\u00d7])""",
    re.X,
)


class Unclear(ValueError):
    """What the notation does not have."""


def _tag(name, *inside, **attributes):
    shown = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{shown}>{''.join(inside)}</{name}>"


def _sign(text, **attributes):
    return _tag("mo", html.escape(SIGNS.get(text, text)), **attributes)


def _text(words):
    return _tag("mtext", html.escape(words).replace(" ", "\u00a0"))


def _letters(text):
    """An index: numbers as they are, letters one by one."""
    if text in GREEK:
        return _tag("mi", GREEK[text])
    parts = [
        _tag("mn" if part.isdigit() else "mi", part) for part in re.findall(r"\d+|[A-Za-z]", text)
    ]
    return parts[0] if len(parts) == 1 else _tag("mrow", *parts)


class _Reader:
    def __init__(self, text, display):
        self.text, self.display = text, display
        self.tokens, at = [], 0
        while at < len(text):
            found = TOKEN.match(text, at)
            if not found:
                raise Unclear(f"{text!r}: {text[at:]!r} is not in the notation")
            self.tokens.append((found.lastgroup, found[0]))
            at = found.end()
        self.at = 0

    def see(self, ahead=0):
        """Kind and text of a token, blanks included."""
        at = self.at + ahead
        return self.tokens[at] if 0 <= at < len(self.tokens) else ("end", "")

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def blanks(self):
        """The width of the blanks here, which are skipped."""
        width = 0
        while self.see()[0] == "space":
            width += len(self.take()[1])
        return width

    def fail(self):
        rest = "".join(text for _, text in self.tokens[self.at :])
        raise Unclear(f"{self.text!r}: cannot read {rest!r}")

    def row(self, until=()):
        """A row of terms and signs up to one of `until`, which stays."""
        found = []
        while True:
            width = self.blanks()
            kind, text = self.see()
            if kind == "end" or text in until:
                return _tag("mrow", *found)
            if width > 1 and found:
                found.append(_tag("mspace", width="2em" if width > 3 else "1em"))
            condition = text == "|" and self.see(-1)[0] == self.see(1)[0] == "space"
            article = text == "a" and self.see(2)[0] == "word" and self.see(2)[1] not in FUNCTIONS
            if article or (
                kind == "word" and text not in FUNCTIONS and not self.large_follows(text)
            ):
                found.append(self.words(bool(found)))
            elif condition or (kind == "sign" and text not in "(|[/" and not self.opens()):
                self.take()
                found.append(_sign(text, **({"stretchy": "false"} if text in ")]|" else {})))
            else:
                found.append(self.term())

    def opens(self):
        """Whether a < here opens an inner product <a, b>."""
        return self.see()[1] == "<" and self.see(1)[0] == "name"

    def words(self, after):
        words = [self.take()[1]]
        while self.see()[0] == "space" and len(self.see()[1]) == 1 and self.see(1)[0] == "word":
            if self.see(1)[1] in FUNCTIONS:
                break
            self.take()
            words.append(self.take()[1])
        before_more = self.see()[0] == "space"
        return _text(" " * after + " ".join(words) + " " * before_more)

    def term(self):
        """Factors side by side, and a fraction of them."""
        factors = [self.factor()]
        while True:
            gap = self.see()[0] == "space"
            kind, text = self.see(1 if gap else 0)
            if text == "/":
                factors = self.fraction(factors, gap)
            elif gap and len(self.see()[1]) > 1:
                break
            elif kind in ("name", "number") or text == "(" or text in FUNCTIONS:
                if text in LARGE and text not in FUNCTIONS:
                    break
                if gap:
                    self.take()
                factors.append(self.factor(gap))
            else:
                break
        return "".join(factors)

    def fraction(self, factors, gap):
        self.blanks()
        self.take()
        self.blanks()
        under = self.factor()
        while not gap and self.see()[0] in ("name", "prime"):  # 1/kappa R is no fraction of R
            under += self.factor()
        over = factors if gap else factors[-1:]
        if not self.display:
            return [*factors, _sign("/", lspace="0", rspace="0"), under]
        both = (_tag("mrow", _bare("".join(over))), _tag("mrow", _bare(under)))
        return [*([] if gap else factors[:-1]), _tag("mfrac", *both)]

    def factor(self, gap=False):
        kind, text = self.see()
        if text in LARGE and self.large_follows(text):
            return self.large()
        if kind == "number":
            self.take()
            base = _tag("mn", text)
        elif text == "sqrt" and self.see(1)[1] == "(":
            self.take()
            base = _tag("msqrt", _bare(self.brackets("(", ")")))
        elif kind == "name":
            self.take()
            base = self.name(text)
        elif text in FUNCTIONS:
            self.take()
            base = _tag("mi", text)
            if self.see()[0] == "space" and len(self.see()[1]) == 1:
                self.take()
                return self.indices(base) + _tag("mspace", width="0.17em") + self.factor()
        elif text == "(":
            base = self.brackets("(", ")")
        elif text == "[":
            base = self.brackets("[", "]")
        elif text == "|":
            base = self.brackets("|", "|")
        elif self.opens():
            base = self.brackets("<", ">", "\u27e8", "\u27e9")
        else:
            self.fail()
        shown = self.indices(base)
        return (_tag("mspace", width="0.17em") if gap and kind != "sign" else "") + shown

    def name(self, text):
        plain, bar, _ = text.partition("-bar")
        letter = "\u221e" if plain == "inf" else GREEK.get(plain, plain)
        base = _tag("mi", letter)
        return _tag("mover", base, _sign("\u00af")) if bar else base

    def brackets(self, left, right, left_shown=None, right_shown=None):
        self.take()
        inside = self.row((right,))
        if self.see()[1] != right:
            self.fail()
        self.take()
        stretchy = {"stretchy": "true" if self.display and "mfrac" in inside else "false"}
        opening = _sign(left_shown or left, **stretchy, form="prefix")
        return _tag("mrow", opening, inside, _sign(right_shown or right, **stretchy, form="postfix"))

    def indices(self, base):
        """What stands below and above: _ij, primes, ^2, and the star of w*."""
        below, above, primes = None, [], ""
        while True:
            kind, text = self.see()
            following = self.see(1)
            if kind == "index":
                self.take()
                below = _letters(text[1:])
            elif kind == "prime":
                self.take()
                primes += _sign("\u2032" * len(text), lspace="0", rspace="0.1em")
            elif text == "*" and following[1] in (")", "(", "|", ",", "", "."):
                self.take()
                above.append(_sign("*"))
            elif text == "^":
                self.take()
                above.append(self.power())
            else:
                break
        if primes:
            above.insert(0, primes)
        top = above[0] if len(above) == 1 else _tag("mrow", *above)
        if below and above:
            return _tag("msubsup", base, below, top)
        return _tag("msub", base, below) if below else _tag("msup", base, top) if above else base

    def power(self):
        display, self.display = self.display, False
        minus = self.see()[1] == "-"
        if minus:
            self.take()
        shown = (_sign("-") if minus else "") + _bare(self.factor())
        self.display = display
        return _tag("mrow", shown)

    def large_follows(self, text):
        """Whether a sum, mean or the like begins: `sum over`, `sum_i`, `integral from`."""
        kind, after = self.see(1)
        if kind == "index":
            return text in ("sum", "product", "max", "min")
        return kind == "space" and self.see(2)[1] in ("over", "from")

    def large(self):
        _, text = self.take()
        sign = LARGE[text]
        base = _tag("mo", sign, largeop="true") if sign else _tag("mi", text)
        kind, index = self.see()
        if kind == "index":
            self.take()
            return _tag("munder" if self.display else "msub", base, _letters(index[1:]))
        self.blanks()
        how = self.take()[1]
        self.blanks()
        if how == "from":
            lower = self.row(("to",))
            self.take()
            upper = self.row(("of",))
            self.take()
            return _tag("munderover", base, lower, upper)
        below = []
        while self.see()[1] != "of" and self.see()[0] != "end":
            if self.see()[0] == "space" and len(self.see()[1]) > 1:
                return _tag("munder", base, _tag("mrow", *below)) + _tag("mspace", width="0.5em")
            kind, token = self.take()
            if kind == "name":
                below.append(self.name(token))
            elif kind != "space":
                below.append(_text(token) if kind == "word" else _sign(token))
        if self.see()[1] != "of":
            self.fail()
        self.take()
        return _tag("munder", base, _tag("mrow", *below)) + _tag("mspace", width="0.17em")


def _bare(shown):
    """Without the brackets around all of it."""
    opening = r'<mrow><mo stretchy="\w+" form="prefix">\(</mo>'
    closing = r'<mo stretchy="\w+" form="postfix">\)</mo></mrow>'
    found = re.fullmatch(f"{opening}(.*){closing}", shown, re.S)
    return found[1] if found and _balanced(found[1]) else shown


def _balanced(shown):
    depth = 0
    for sign in re.findall(r'form="prefix">\(|form="postfix">\)', shown):
        depth += 1 if sign.endswith("(") else -1
        if depth < 0:
            return False
    return depth == 0


def mathml(text, display=False):
    reader = _Reader(text, display)
    shown = reader.row()
    if reader.see()[0] != "end":
        reader.fail()
    return _tag("math", shown, **({"display": "block"} if display else {}))


# ---- in prose ----------------------------------------------------------------

_ATOM = rf"(?:{NAME})(?:-bar)?(?![A-Za-z]|-[a-z])"
_WORD = re.compile(
    rf"(?:{_ATOM}|(?:{'|'.join(sorted(FUNCTIONS))})(?=[_(])|\d+(?:\.\d+)?"
    rf"|_{INDEX}|'+|[-+*/^|(),\[\]]|\.\.)+$"
)
_JOINS = {"=", "+", "-", "<", "<=", ">=", "->", "*", "/", "x", ".."}


def _is_mathematics(word):
    if not _WORD.match(word) or not re.search("[A-Za-z]", word):
        return False
    return not re.fullmatch(r"[aAI]|\(?[A-Z]?\d+[a-z]?\)?|\([a-z]\)", word)


def in_prose(text):
    """Pieces of a text: (False, words) or (True, a formula in them)."""
    words = re.split(r"(\s+)", text)
    found, at = [], 0
    while at < len(words):
        last = _formula_end(words, at)
        if last is None:
            found.append((False, words[at]))
            at += 1
            continue
        formula = "".join(words[at : last + 1])
        tail = re.search(r"[.,;:]*$", formula)[0]
        formula = formula[: len(formula) - len(tail)] if tail else formula
        formula = re.sub(r"(?<=[A-Z]) x (?=[A-Z])", " \u00d7 ", formula)
        found += _bracketed(formula)
        found.append((False, tail))
        at = last + 1
    joined = []
    for is_formula, piece in found:
        if joined and not is_formula and not joined[-1][0]:
            joined[-1] = (False, joined[-1][1] + piece)
        elif piece:
            joined.append((is_formula, piece))
    return joined


def _formula_end(words, at):
    """The place of the last word of the formula that begins at `at`, or None."""
    last, depth, joined = None, 0, False
    for end in range(at, len(words), 2):  # a word and the blanks after it
        word = words[end]
        plain = re.sub(r"[.;:,]+$", "", word)
        following = words[end + 2] if end + 2 < len(words) else ""
        inside = joined or depth > 0
        ambiguous = plain in ("a", "A", "I")
        number = re.fullmatch(r"-?\(?\d+(\.\d+)?\)*", plain)
        if plain.count("(") > plain.count(")") and re.fullmatch(r"[\d./(]+", plain):
            number, following = True, "="  # 1/(2 sqrt(R))
        if _is_mathematics(plain) and not ambiguous:
            last, joined = end, False
        elif (ambiguous or number) and (inside or following in _JOINS - {"x"}):
            last, joined = (end if inside or ambiguous else last), False
        elif plain == "I" and last is not None:
            last = end
        elif last is not None and word in _JOINS or (end > at and not joined and word in _JOINS):
            joined = True
        else:
            break
        depth += word.count("(") - word.count(")")
        if word != plain and depth <= 0 and not joined:
            break
    return last


def _bracketed(formula):
    """Without brackets of the sentence that open before the formula or close after it."""
    before, after = "", ""
    for left, right in ("()", "[]"):
        while formula.count(left) > formula.count(right) and formula.startswith(left):
            before, formula = before + left, formula[1:]
        while formula.count(right) > formula.count(left) and formula.endswith(right):
            after, formula = right + after, formula[:-1]
    return [(False, before), (True, formula), (False, after)]
