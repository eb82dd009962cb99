"""Builds the root as an ordinary user without a subuid range, and compares it with the one that is there."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import built_root  # noqa: E402
import ordinary_user  # noqa: E402


class SameTree(built_root.RootTest):
    def build(self, *arguments, **fields):
        return subprocess.run([built_root.BUILD, *arguments], capture_output=True, text=True, check=False, **ordinary_user.NOT_ROOT, **fields)

    def folder(self):
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        if os.geteuid() == 0:
            os.chown(folder.name, ordinary_user.ID, ordinary_user.ID)
        return pathlib.Path(folder.name)

    def test_ordinary_user_gets_the_same_tree(self):
        folder = self.folder()
        finished = self.build("--base", folder, env={"PATH": "/usr/bin:/bin", "HOME": str(folder)})
        self.assertEqual(0, finished.returncode, finished.stderr)
        built = built_root.manifest_of(folder / "root")
        self.assertEqual(self.manifest["packages"], built["packages"], "the archive changed; build the other anew")
        self.assertEqual(self.manifest["tree"], built["tree"])
        self.assertEqual(built["tree"], built_root.sha256_of_tree((folder / "root").resolve()))

    def test_no_archive_is_one_line(self):
        folder = self.folder()
        sources = folder / "sources.list"
        sources.write_text("deb http://127.0.0.1:9/debian trixie main\n", encoding="utf-8")
        finished = self.build("--base", folder, "--sources", sources, env={"PATH": "/usr/bin:/bin", "HOME": str(folder)})
        self.assertEqual(3, finished.returncode, finished.stderr)
        complaints = [line for line in finished.stderr.splitlines() if "building the root" not in line]
        self.assertEqual(1, len(complaints), finished.stderr)
        self.assertIn("no answer from the package archive", complaints[0])
        self.assertFalse((folder / "root").exists())
