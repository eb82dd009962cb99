"""The API documentation that doxygen makes of libjail's headers: it is made without a warning, and nothing
that an embedder can call or name is missing from it or undocumented."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROJECT = pathlib.Path(__file__).resolve().parents[2]
JAIL = PROJECT / "jail"
sys.path.insert(0, str(PROJECT / "tests" / "style"))
import tree  # noqa: E402, pylint: disable=wrong-import-position

HEADERS = sorted((JAIL / "include").rglob("*.h"))
FUNCTION = re.compile(r"(~\w+|\b[a-z]\w*)\s*\((?!\*)[^;{}]*?\)[^;{}()]*(?:;|\{)")
NOT_FUNCTIONS = {"if", "for", "while", "return", "sizeof", "switch", "operator", "noexcept", "alignas", "decltype", "defined",
                 "__attribute__", "bool"}
# They do what their name says, in every class and for every handle of the C interface.
SPECIAL = re.compile(r"~.*|operator(=|==|\*|->)|has_value|operator bool|jail_\w+_(new|copy|destroy|text|set_\w+)")


def conversion():
    spec = importlib.util.spec_from_file_location("doxygen_comments", JAIL / "docs" / "doxygen_comments.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.converted


def build(output, jail=JAIL):
    return subprocess.run([str(jail / "docs" / "build"), str(output)], capture_output=True, text=True, check=False, timeout=300)


def public_functions(header):
    """Names, by a reading of the header that knows nothing of doxygen: without what is private, in a body or in a comment."""
    source = tree.without_comments_and_strings(tree.text_of(header))
    source = re.sub(r"^\s*#.*(?:\\\n.*)*$", "", source, flags=re.MULTILINE)
    source = re.sub(r"^ private:.*?^};", "};", source, flags=re.MULTILINE | re.DOTALL)
    source = re.sub(r"^\s*(?:struct State;\s*\n.*|friend .*;)$", "", source, flags=re.MULTILINE)
    # A constructor's list of initializers looks like calls.
    source = re.sub(r"\)(?:\s*noexcept)?\s*:\s[^;{}]*\{(?:[^{}]|\{[^{}]*\})*\}", ");", source)
    source = re.sub(r"(\)[\w\s&]*)\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}", r"\1;", source)
    return {name for name in FUNCTION.findall(source) if name not in NOT_FUNCTIONS}


class Conversion(unittest.TestCase):
    maxDiff = None

    def assert_becomes(self, before, after):
        self.assertEqual(after, conversion()(before))

    def test_above_a_declaration(self):
        self.assert_becomes("int a;\n\n// What it is,\n// in two lines.\nint f();\n", "int a;\n\n/// What it is,\n/// in two lines.\nint f();\n")

    def test_above_several_functions(self):
        self.assert_becomes("int a;\n// Ends it.\nint f(int b,\n      int c);\nint g();\nint h;  // other\nint i();\n\nint j();\n",
                            "int a;\n/// Ends it.\nint f(int b,\n      int c);\n/// Ends it.\nint g();\nint h;  ///< other\n"
                            "/// Ends it.\nint i();\n\nint j();\n")

    def test_behind_a_declaration_in_one_line_and_in_several(self):
        self.assert_becomes("int a;  // one\nint b;  // two,\n        // and more\nint c;\n",
                            "int a;  ///< one\nint b;  ///< two,\n        ///< and more\nint c;\n")

    def test_first_one_is_the_files(self):
        self.assert_becomes("// About it.\n#pragma once\n", "/// @file\n///\n/// About it.\n#pragma once\n")

    def test_errors_get_a_head(self):
        self.assert_becomes("int a;\n// Does it. Errors: refused, when not.\nint f();\n",
                            "int a;\n/// Does it.\n/// @par Errors\n/// refused, when not.\nint f();\n")

    def test_words_that_doxygen_would_take_for_its_own(self):
        self.assert_becomes("int a;\n// <b> of /proc/<pid>, 10% @home \\n #1; `a < b`.\nint f();\n",
                            "int a;\n/// \\<b\\> of /proc/\\<pid\\>, 10\\% \\@home \\\\n \\#1; `a < b`.\nint f();\n")

    def test_hidden_ones(self):
        self.assert_becomes("int a;\nstruct State;  // the library's own\n", "int a;\n/** @cond */struct State;  /** @endcond */\n")

    def test_what_is_no_documentation_stays(self):
        for text in ('int a;\n// A remark that stands alone.\n\nint b;\n', 'const char* a = "//no";\n', "}  // namespace jail\n",
                     "int a;  // NOLINT(x)\n", "int a;  ///< said already\n"):
            self.assert_becomes(text, text)

    def test_code_stays(self):
        for header in HEADERS:
            before, after = (tree.without_comments_and_strings(text).split()
                             for text in (tree.text_of(header), conversion()(tree.text_of(header))))
            self.assertEqual(before, after, header)


@unittest.skipUnless(shutil.which("doxygen"), "no doxygen")
class Documentation(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-docs."))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.built = build(cls.root)
        cls.members, cls.types = [], []
        for path in (cls.root / "xml").glob("*.xml"):
            if path.stem in ("index", "Doxyfile"):
                continue
            top = xml.etree.ElementTree.parse(path).getroot()
            cls.types += [each for each in top.findall("compounddef") if each.get("kind") in ("class", "struct", "union", "file")
                          and not each.findtext("compoundname").endswith(".md")]
            cls.members += list(top.iter("memberdef"))

    @staticmethod
    def is_described(element):
        return any("".join(part.itertext()).strip() for name in ("briefdescription", "detaileddescription") for part in element.findall(name))

    def test_no_warning(self):
        self.assertEqual((0, ""), (self.built.returncode, self.built.stderr))

    def test_control_a_warning_fails(self):
        copy = self.root / "copy" / "jail"
        for folder in ("include", "docs"):
            shutil.copytree(JAIL / folder, copy / folder)
        shutil.copy(PROJECT / "CMakeLists.txt", copy.parent)
        header = next((copy / "include").rglob("fd.h"))
        header.write_text(header.read_text(encoding="utf-8") + "\n/// @param nobody is here\nint planted(int somebody);\n", encoding="utf-8")
        built = build(copy.parent / "out", copy)
        self.assertNotEqual(0, built.returncode)
        self.assertIn("nobody", built.stderr)

    def test_every_public_function_appears(self):
        documented = {member.findtext("name") for member in self.members}
        for header in HEADERS:
            names = public_functions(header)
            with self.subTest(header.name):
                self.assertEqual(set(), names - documented)
        self.assertLessEqual({"launch", "compile_policy", "collect", "adopt", "lease", "~Jail", "host_root"},
                             set().union(*map(public_functions, HEADERS)))

    def test_every_type_and_every_file_is_described(self):
        enums = [member for member in self.members if member.get("kind") == "enum"]
        # A typedef of the C interface only saves the word before the name.
        types = [(each.findtext("compoundname"), each) for each in self.types] + [(each.findtext("name"), each) for each in enums]
        described = {name for name, each in types if self.is_described(each)}
        self.assertLessEqual({"jail::PoolOptions", "Phase", "pool.h"}, described)
        # jail_pool_options corresponds to jail::PoolOptions.
        said = {name.rpartition("::")[2] for name in described}
        self.assertEqual(set(), {name for name, _ in types if name not in described and not (
            name.startswith("jail_") and "".join(map(str.capitalize, name.split("_")[1:])) in said)})

    def test_every_function_is_described(self):
        # One comment is enough for all that a class has by one name.
        described = {(member.get("id").rpartition("_1")[0], member.findtext("name")) for member in self.members if self.is_described(member)}
        constructors = {each.findtext("compoundname").rpartition("::")[2].partition("<")[0].strip() for each in self.types}
        self.assertEqual([], sorted({member.findtext("definition") for member in self.members
                                     if member.get("kind") in ("function", "define") and member.get("prot") == "public"
                                     and (member.get("id").rpartition("_1")[0], member.findtext("name")) not in described
                                     and not SPECIAL.fullmatch(member.findtext("name"))
                                     and member.findtext("name") not in constructors}))

    def test_what_is_the_librarys_own_is_hidden(self):
        self.assertNotIn("jail::Jail::State", {each.findtext("compoundname") for each in self.types})
        self.assertNotIn("state_", {member.findtext("name") for member in self.members if member.get("prot") == "public"})

    def test_it_opens_with_the_guide(self):
        front = (self.root / "html" / "index.html").read_text(encoding="utf-8")
        self.assertIn("Your first jail", front)
        self.assertIn('class="fragment"', front)

    def test_links_lead_somewhere(self):
        html = self.root / "html"
        texts = {path.name: path.read_text(encoding="utf-8") for path in html.glob("*.html")}
        for name, text in texts.items():
            for target, anchor in re.findall(r'href="([\w.-]+\.html)(?:#([\w-]+))?"', text):
                self.assertIn(target, texts, name)
                if anchor:
                    self.assertRegex(texts[target], rf'(?:id|name)="{re.escape(anchor)}"', f"{name} leads to {target}#{anchor}")

    def test_it_does_not_know_where_it_was_made(self):
        for path in (self.root / "html").rglob("*.html"):
            self.assertNotIn(str(PROJECT), path.read_text(encoding="utf-8"), path.name)
