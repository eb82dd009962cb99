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

    def complaint(self, status, source):
        """Returns the one line that a build from this source ends with."""
        folder = self.folder()
        sources = folder / "sources.list"
        sources.write_text(source + "\n", encoding="utf-8")
        finished = self.build("--base", folder, "--sources", sources, env={"PATH": "/usr/bin:/bin", "HOME": str(folder)})
        self.assertEqual(status, finished.returncode, finished.stderr)
        complaints = [line for line in finished.stderr.splitlines() if "building the root" not in line]
        self.assertEqual(1, len(complaints), finished.stderr)
        self.assertFalse((folder / "root").exists())
        return complaints[0]

    def test_no_archive_is_one_line(self):
        self.assertIn("no answer from the package archive", self.complaint(3, "deb http://127.0.0.1:9/debian trixie main"))

    def test_no_key_is_one_line(self):
        keys = "/usr/share/keyrings/debian-archive-removed-keys.gpg"
        complaint = self.complaint(1, f"deb [signed-by={keys}] http://deb.debian.org/debian trixie main")
        self.assertRegex(complaint, "this host has no key that verifies Debian trixie: .*NO_PUBKEY")
