"""The parts of the documentation site that need nothing but Python: formulas, the C reference, links.

Browsers and Sphinx are not part of it; `make site` checks the whole.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
sys.dont_write_bytecode = True

import c_reference  # noqa: E402
import notation  # noqa: E402

HEADER = (ROOT / "include" / "kerbin.h").read_text()


def tree(formula, display=False):
    return xml.etree.ElementTree.fromstring(notation.mathml(formula, display))


def letters(node):
    return "".join(node.itertext()).replace("\u00a0", " ")


class Formulas(unittest.TestCase):
    def test_every_formula_of_the_theory_page_is_well_formed(self):
        count = 0
        for line in (ROOT / "docs" / "theory.md").read_text().splitlines():
            if line.startswith("    ") and line.strip():
                formula = re.sub(r"\s+\([A-Z]?\d+[a-z]?\)$", "", line.strip())
                self.assertEqual(tree(formula, True).tag, "math")
                count += 1
        self.assertGreater(count, 30)

    def test_every_formula_in_its_text_is_read_or_left_as_it_is(self):
        text = re.sub("`[^`]*`", "", (ROOT / "docs" / "theory.md").read_text())
        for paragraph in re.sub(r"^    .*$", "", text, flags=re.M).split("\n\n"):
            pieces = notation.in_prose(paragraph)
            self.assertEqual("".join(p for _, p in pieces).replace(" \u00d7 ", " x "), paragraph)
            for formula in (piece for is_formula, piece in pieces if is_formula):
                tree(formula)

    def test_an_index_stands_below_and_a_power_above(self):
        (both,) = tree("z_ij^2").iter("msubsup")
        self.assertEqual([letters(part) for part in both], ["z", "ij", "2"])

    def test_a_spaced_fraction_takes_all_factors_and_a_tight_one_the_last(self):
        (spaced,) = tree("(S_b - Lambda u_b) / (n_b + Lambda)", True).iter("mfrac")
        self.assertEqual([letters(part) for part in spaced], ["Sb\u2212\u039bub", "nb+\u039b"])
        (tight,) = tree("a b/2", True).iter("mfrac")
        self.assertEqual([letters(part) for part in tight], ["b", "2"])

    def test_an_integral_has_its_limits(self):
        (integral,) = tree("integral from t to inf of k(s)", True).iter("munderover")
        self.assertEqual([letters(part) for part in integral], ["\u222b", "t", "\u221e"])

    def test_what_is_not_in_the_notation_is_refused(self):
        for formula in ("a ? b", "(a + b", "|a", "a / ", "x^"):
            with self.assertRaises(notation.Unclear, msg=formula):
                notation.mathml(formula)

    def test_articles_and_numbers_of_equations_are_words(self):
        for text in ("a grid", "see (5a)", "(Q1) is", "A bin", "equation 4"):
            self.assertEqual(notation.in_prose(text), [(False, text)])
        self.assertEqual(notation.in_prose("so k(0) = 1."), [(False, "so "), (True, "k(0) = 1"), (False, ".")])


class Reference(unittest.TestCase):
    def test_the_comment_above_a_function_is_its_text(self):
        page = c_reference.reference(HEADER)
        place = page.index(".. c:function:: const char *kb_version(void)")
        self.assertIn("The version of the library in use", page[place : place + 200])

    def test_every_public_call_is_there_once(self):
        page = c_reference.reference(HEADER)
        for name in re.findall(r"^KB_API [^;]*?\b(kb_\w+)\(", HEADER, re.M):
            self.assertEqual(len(re.findall(rf"c:function:: .*\b{name}\(", page)), 1, name)

    def test_members_have_the_comments_above_and_behind_them(self):
        page = c_reference.reference(HEADER)
        place = page.index("enumerator:: KB_ERR_IO")
        self.assertIn("a file cannot be opened", page[place : place + 100])
        place = page.index("c:struct:: kb_context_config")
        place = page.index("c:member:: void *user", place)
        self.assertIn("Handed to every callback.", page[place : place + 100])

    def test_a_form_that_is_not_known_is_an_error(self):
        strange = HEADER.replace("/* ---- features", "union kb_u { int a; };\n/* ---- features")
        self.assertNotEqual(strange, HEADER)
        with self.assertRaises(c_reference.Unknown):
            c_reference.reference(strange)


class Links(unittest.TestCase):
    def check(self, files, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            command = [sys.executable, ROOT / "scripts" / "check-links", *options, folder]
            done = subprocess.run(command, capture_output=True, text=True)
            return done.returncode, done.stdout

    def test_a_missing_file_and_a_missing_heading_are_told(self):
        pages = {"README.md": "# A\n[b](docs/b.md#c-d) [x](docs/x.md) [e](docs/b.md#e)\n"}
        pages["docs/b.md"] = "# B\n\n## C, `d`\n\n[up](../README.md#a)\n"
        status, said = self.check(pages)
        self.assertEqual(status, 1)
        self.assertEqual(
            said.splitlines(),
            [
                "README.md: docs/x.md: there is no such file",
                "README.md: docs/b.md#e: there is no such heading",
            ],
        )

    def test_a_site_loads_nothing_from_elsewhere(self):
        page = '<a href="b.html#x">b</a><script src="https://example.org/a.js"></script>'
        status, said = self.check({"a.html": page, "b.html": '<p id="x">'}, "--html")
        self.assertEqual(said, "a.html: https://example.org/a.js: is loaded from elsewhere\n")
        self.assertEqual(status, 1)

    def test_a_site_whose_links_hold_is_fine(self):
        pages = {"a.html": '<a href="b.html#x">b</a>', "b.html": '<p id="x">'}
        self.assertEqual(self.check(pages, "--html")[0], 0)


if __name__ == "__main__":
    unittest.main()
