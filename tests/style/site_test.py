"""The site of all documents (`./dev docs`): each has a place in its menu, and no link leads nowhere."""
import importlib.util
import json
import pathlib
import shutil
import tempfile
import unittest

import tree

SCRIPT = tree.PROJECT / "server" / "docs" / "site.py"


def site():
    spec = importlib.util.spec_from_file_location("site_of_documents", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Site(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_each_document_has_a_place(self):
        pages = site().pages_of(tree.PROJECT)
        self.assertGreater(len(pages), 50)
        listed = [title for section in site().menu({page: str(page) for page in pages}) for entries in section.values()
                  for entry in entries for title in entry]
        self.assertEqual(sorted(map(str, pages)), sorted(listed))
        self.assertEqual("README.md", listed[0])

    def test_a_document_without_a_place_is_named(self):
        with self.assertRaisesRegex(SystemExit, "no place for nowhere/a.md"):
            site().menu({pathlib.PurePosixPath("nowhere/a.md"): "A"})

    def test_links(self):
        project, stage = self.directory / "project", self.directory / "stage"
        for name, text in {"README.md": "[a](part) [b](none) [c](part/x.json) [d](empty) [e](https://example.org)\nlist:\n- one\n",
                           "part/README.md": "# Part\n", "part/x.json": "{}", "empty/x": ""}.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text, encoding="utf-8")
        made = site().Site(project, stage)
        made.add_page(pathlib.PurePosixPath("README.md"))
        self.assertEqual("[a](part/README.md) [b](none) [c](part/x.json) d [e](https://example.org)\nlist:\n\n- one\n",
                         (stage / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(["README.md: none"], made.broken)
        self.assertTrue((stage / "part" / "x.json").is_file())

    @unittest.skipUnless(shutil.which("mkdocs") and shutil.which("mandoc"), "mkdocs and mandoc are not installed")
    def test_all_of_it(self):
        site().build(tree.PROJECT, self.directory / "site", None)
        index = json.loads((self.directory / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
        found = {entry["location"].partition("#")[0] for entry in index["docs"] if "SANDBOX_MAX_LIVING" in entry["text"]}
        self.assertIn("runtime/config/settings.html", found)
        self.assertIn("manual/agent-sandbox.json.5.html", {entry["location"].partition("#")[0] for entry in index["docs"]})


if __name__ == "__main__":
    unittest.main()
