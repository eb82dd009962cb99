"""Comments are sentences or noun phrases: none begins with a word that leaves out what it is about."""
import re

import tree

TOKEN = re.compile(r'(?P<comment>//[^\n]*)|/\*.*?\*/|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|'
                   r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'", re.DOTALL)
FRAGMENT = re.compile(r"// (Of|Whose|Who|And|But|None) ")


def comments(source):
    """Yields line, column and text of each comment that begins with //."""
    for match in TOKEN.finditer(source):
        if match.group("comment"):
            start = match.start()
            yield tree.line_of(source, start), start - source.rfind("\n", 0, start) - 1, match.group()


def fragments(root):
    """A comment that goes on in the same column is one; only its first line is looked at."""
    violations = []
    for path in tree.code_files(root):
        before = None
        for line, column, text in comments(tree.text_of(path)):
            goes_on = before == (line - 1, column)
            before = (line, column)
            if (match := FRAGMENT.match(text)) and not goes_on:
                where = path.relative_to(root).as_posix()
                violations.append(f'{where}:{line} begins with "{match.group(1)}": name the subject')
    return violations


class Comments(tree.RuleTest):
    def test_project(self):
        self.assert_project_keeps(fragments)

    def test_control(self):
        planted = {
            "jail/src/a.cc": "// Of a file.\nint a;  // Whose jail it is.\n"
                             "// The number of jails. The members count those\n// Of the pool.\nint b;\n"
                             'const char* text = "// Who asks";\n// Official.\n',
            "server/a.h": "int a;    // the bytes\n          // But not all.\n  // And more.\nint b;\n",
            "runtime/a.h": 'R"(\n// None here\n)"\n// None is left.\n',
        }
        self.assert_rule_finds(fragments, planted, 'a.cc:1 begins with "Of"', 'a.cc:2 begins with "Whose"',
                               'a.h:3 begins with "And"', 'a.h:4 begins with "None"')
