#!/usr/bin/env python3
"""Makes one site of all documents and manual pages, with a search over them.

  site.py TREE DIRECTORY [LIBJAIL_HTML]

DIRECTORY is written anew: an index.html to open, which needs no server. LIBJAIL_HTML, the output of doxygen, becomes its
libjail/. Needs mkdocs and mandoc. A link to nothing is a failure.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The first section whose pattern fits a page has it; the order is that of the menu.
SECTIONS = (
    ("Start", ("README.md", "CHANGELOG.md", "server/docs/warm_and_cold.md", "server/docs/architecture.md")),
    ("Use", ("server/docs/*.md", "server/clients/*/README.md", "manual/*.md")),
    ("Operate", ("runtime/config/settings.md", "server/deploy/*.md", "rootfs/*.md", "SECURITY.md")),
    ("libjail", ("jail/README.md", "jail/docs/first_jail.md", "jail/docs/decisions.md", "jail/examples/*.md", "jail/**/*.md")),
    ("Security", ("policies/*.md",)),
    ("Work on it", ("CONTRIBUTING.md", "bench/*.md", "runtime/README.md", "runtime/**/README.md", "server/README.md",
                    "server/**/README.md", "tests/README.md", "tests/**/README.md")),
)
NOT_OURS = {"build", ".git", ".cache", "node_modules"}
NO_PAGES = ("runtime/agent/prompts/*.md",)  # what models are told
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```|~~~)")
LIST_ITEM = re.compile(r"^(?:[-*+]|\d+\.) ")


def rank(page, patterns):
    """The number of the first pattern that fits, or none. * is anything but a slash, **/ any folders or none of them."""
    for number, pattern in enumerate(patterns):
        expression = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        if re.fullmatch(expression, str(page)):
            return number
    return None


def pages_of(tree):
    """Every document of the project."""
    pages = (pathlib.PurePosixPath(path.relative_to(tree)) for path in tree.rglob("*.md"))
    return sorted(page for page in pages if not set(page.parts) & NOT_OURS and rank(page, NO_PAGES) is None)


def title_of(text, page):
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return re.sub(r"[`*]", "", heading.group(1)) if heading else page.stem


def with_room_for_lists(text):
    """A list that follows a paragraph at once is one for readers on the forge, and none for mkdocs without an empty line."""
    lines, fenced, before = [], False, ""
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and LIST_ITEM.match(line) and before.strip() and not LIST_ITEM.match(before) and not before.startswith(" "):
            lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)


class Site:
    def __init__(self, tree, stage):
        self.tree, self.stage = tree, stage
        self.broken = []

    def add_page(self, page):
        text = (self.tree / page).read_text(encoding="utf-8")
        self.write(page, LINK.sub(lambda link: self.linked(page, link), with_room_for_lists(text)))
        return title_of(text, page)

    def linked(self, page, link):
        """The same link, to a page where it names a folder; a file that it names comes along."""
        before, address, after = link.groups()
        name, mark, place = address.partition("#")
        if not name or ":" in name:
            return link.group()
        target = pathlib.PurePosixPath(os.path.normpath(page.parent / name))
        found = self.tree / target
        if found.is_dir():
            if not (found / "README.md").is_file():
                return f"{before.lstrip('!')[1:-2]}"  # a folder without a page: its words alone
            name = name.rstrip("/") + "/README.md"
        elif not found.is_file():
            self.broken.append(f"{page}: {address}")
        elif found.suffix != ".md":
            (self.stage / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, self.stage / target)
        return f"{before}{name}{mark}{place}{after}"

    def write(self, page, text):
        (self.stage / page).parent.mkdir(parents=True, exist_ok=True)
        (self.stage / page).write_text(text, encoding="utf-8")

    def add_manual(self):
        """Manual pages by name and section: agent-sandbox(1)."""
        titles = {}
        for source in sorted((self.tree / "server" / "deploy" / "man").iterdir()):
            said = subprocess.run(["mandoc", "-T", "markdown", "-W", "error", source], capture_output=True, text=True, check=True)
            name, _, number = source.name.rpartition(".")
            page = pathlib.PurePosixPath("manual", f"{source.name}.md")
            titles[page] = f"{name}({number})"
            self.write(page, f"# {titles[page]}\n\n" + re.sub(r"^# ", "## ", said.stdout, flags=re.MULTILINE))
        return titles


def menu(titles):
    """Lists the sections with their pages, as mkdocs wants it."""
    homeless, sections = set(titles), []
    for section, patterns in SECTIONS:
        pages = [page for page in homeless if rank(page, patterns) is not None]
        pages.sort(key=lambda page: (rank(page, patterns), page))
        sections.append({section: [{titles[page]: str(page)} for page in pages]})
        homeless.difference_update(pages)
    if homeless:
        sys.exit(f"site.py: SECTIONS has no place for {', '.join(sorted(map(str, homeless)))}")
    return sections


def anchors_of_nothing(directory):
    """Links between pages whose place does not exist there: mkdocs names headings by other rules than forges do."""
    texts = {path: path.read_text(encoding="utf-8") for path in directory.rglob("*.html") if "libjail" not in path.parts}
    for path, text in texts.items():
        for name, place in re.findall(r'href="([^"#:]*)#([^"]+)"', text):
            target = texts.get((path.parent / name).resolve() if name else path)
            if target is not None and f'id="{place}"' not in target and f'name="{place}"' not in target:
                yield f"{path.relative_to(directory)}: {name}#{place}"


def build(tree, directory, libjail):
    with tempfile.TemporaryDirectory() as scratch:
        stage = pathlib.Path(scratch, "pages")
        site = Site(tree, stage)
        titles = {page: site.add_page(page) for page in pages_of(tree)} | site.add_manual()
        if site.broken:
            sys.exit("site.py: links to nothing: " + ", ".join(site.broken))
        navigation = menu(titles)
        if libjail:
            shutil.copytree(libjail, stage / "libjail")
            next(section for section in navigation if "libjail" in section)["libjail"].append({"Reference": "libjail/index.html"})
        # YAML is a superset of JSON.
        config = pathlib.Path(scratch, "mkdocs.yml")
        config.write_text(json.dumps({
            "site_name": "agent-sandbox", "docs_dir": str(stage), "site_dir": str(directory), "nav": navigation,
            "use_directory_urls": False, "strict": True, "theme": {"name": "readthedocs"},
            "plugins": [{"search": {"min_search_length": 2}}], "markdown_extensions": ["tables", "fenced_code", "sane_lists"],
        }), encoding="utf-8")
        subprocess.run(["mkdocs", "build", "--quiet", "--clean", "--config-file", config], check=True)
    if lost := sorted(anchors_of_nothing(directory)):
        sys.exit("site.py: places that are not there: " + ", ".join(lost))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    tree, directory = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    build(tree, directory, pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) == 4 else None)


if __name__ == "__main__":
    main()
