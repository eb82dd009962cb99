"""The rules that readers of the documents rely on: links lead somewhere, lines fit, the front page is short."""
import fnmatch
import re

import tree

FRONT_PAGE = 200  # lines of README.md
WIDTH = 120
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Files whose folder's README need not name them: every folder has them, or they are a part of the file that is named.
UNNAMED = ("README.md", "CMakeLists.txt", ".*", "main.cc", "*_image.S", "*_image.S.in")
# Rows of tables and headings cannot be broken.
UNBREAKABLE = ("|", "#", "![")


def documents(root):
    return [path for path in tree.files(root) if path.suffix == ".md"]


def prose(path):
    """Its lines outside of fenced blocks, with their numbers."""
    fenced = False
    for number, line in enumerate(tree.text_of(path).splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading.strip("# ").lower()).replace(" ", "-")


def anchors(path):
    return {anchor(line) for _, line in prose(path) if line.startswith("#")}


def broken_links(root):
    violations = []
    for path in documents(root):
        for number, line in prose(path):
            for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", link):
                    continue
                name, _, place = link.partition("#")
                target = (path.parent / name) if name else path
                if not target.exists() or (place and place not in anchors(target)):
                    violations.append(f"{path.relative_to(root)}:{number} leads nowhere: {link}")
    return violations


def long_lines(root):
    return [f"{path.relative_to(root)}:{number} has {len(line)} columns"
            for path in documents(root) for number, line in prose(path)
            if len(line) > WIDTH and not line.startswith(UNBREAKABLE) and " " in line.strip()]


def long_front_page(root):
    lines = tree.text_of(root / "README.md").count("\n")
    return [f"README.md has {lines} lines: move what is reference to a page"] if lines > FRONT_PAGE else []


def unlisted_files(root):
    """Checks folders whose README has a table of files."""
    violations = []
    for readme in [path for path in documents(root) if path.name == "README.md" and path.parent != root]:
        text = tree.text_of(readme)
        if not re.search(r"^\| file \|", text, re.MULTILINE):
            continue
        globs = [word for word in re.findall(r"`([^`\n]+)`", text) if "*" in word]
        for path in sorted(tree.files(root)):
            is_named = path.stem in text or any(fnmatch.fnmatch(path.name, glob) for glob in (*UNNAMED, *globs))
            if path.parent == readme.parent and not is_named:
                violations.append(f"{path.relative_to(root)} is not in the table of files of its README.md")
    return violations


# The lists of the templates that are shipped.
LISTS_OF_TEMPLATES = ("runtime/service/request_fields.cc", "server/deploy/completions/_agent-sandbox",
                      "server/deploy/completions/agent-sandbox.fish", "server/docs/execute.md")


def unlisted_templates(root):
    names = [path.stem for path in tree.files(root) if path.parent == root / "rootfs/templates"]
    texts = {name: tree.text_of(root / name) for name in LISTS_OF_TEMPLATES if (root / name).exists()}
    return [f"{where} does not name the shipped template {name}" for where, text in texts.items()
            for name in sorted(names) if not re.search(rf"\b{name}\b", text)]


class Documents(tree.RuleTest):
    def test_links_lead_somewhere(self):
        self.assert_project_keeps(broken_links)

    def test_lines_fit(self):
        self.assert_project_keeps(long_lines)

    def test_the_front_page_is_one(self):
        self.assert_project_keeps(long_front_page)

    def test_folders_list_their_files(self):
        self.assert_project_keeps(unlisted_files)

    def test_shipped_templates_are_named(self):
        self.assert_project_keeps(unlisted_templates)

    def test_control_templates(self):
        planted = {"rootfs/templates/new.json": "{}", "server/deploy/completions/agent-sandbox.fish": "newer bash"}
        self.assert_rule_finds(unlisted_templates, planted, "agent-sandbox.fish does not name the shipped template new")

    def test_control_files(self):
        table = "| file | what |\n|---|---|\n| `known.h`, `*_test.cc` | x |\n"
        planted = {"jail/README.md": table, "jail/known.cc": "", "jail/a_test.cc": "", "jail/other.cc": "", "server/README.md": "",
                   "server/any.cc": ""}
        self.assert_rule_finds(unlisted_files, planted, "jail/other.cc is not in the table")
        self.assertEqual(1, len(self.violations(unlisted_files, planted)))

    def test_control_links(self):
        planted = {"README.md": "# A b\n[x](jail/none.md) [y](#a-b) [z](#c)\n`[v](code.md)`\n```\n[w](other.md)\n```\n"}
        self.assert_rule_finds(broken_links, planted, "README.md:2 leads nowhere: jail/none.md", "nowhere: #c")
        self.assertEqual(2, len(self.violations(broken_links, planted)))

    def test_control_lines(self):
        planted = {"jail/README.md": "a " * 60 + "b\n" + "| " + "a " * 80 + "|\n```\n" + "a " * 80 + "\n```\n"}
        self.assert_rule_finds(long_lines, planted, "jail/README.md:1 has 121 columns")
        self.assertEqual(1, len(self.violations(long_lines, planted)))

    def test_control_front_page(self):
        self.assert_rule_finds(long_front_page, {"README.md": "\n" * 201}, "201 lines")
