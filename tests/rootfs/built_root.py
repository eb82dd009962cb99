"""The root under test, and programs on it."""
import hashlib
import json
import os
import pathlib
import subprocess
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = PROJECT / "rootfs" / "build"
BINARY = os.environ.get("AGENT_SANDBOX_BIN", "")


def place():
    return pathlib.Path(os.environ.get("AGENT_SANDBOX_ROOT") or
                        subprocess.run([BUILD, "--where"], capture_output=True, text=True, check=True).stdout.strip())


def manifest_of(root):
    return json.loads((root / "manifest.json").read_text(encoding="utf-8"))


def packages(sign):
    """Names in rootfs/packages: the wanted ones (""), or those that are left out ("!")."""
    lines = (PROJECT / "rootfs" / "packages").read_text(encoding="utf-8").splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith("#")]
    return [name.lstrip("!") for name in names if name.startswith("!") == (sign == "!")]


class RootTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = place()
        if not (cls.root / "manifest.json").exists():
            raise unittest.SkipTest(f"no root at {cls.root}; ./dev rootfs builds it")
        cls.manifest = manifest_of(cls.root)

    def run_in_jail(self, code, language="python", memory=256):
        finished = subprocess.run([BINARY, "exec", "--rootfs", self.root, "--language", language, "--timeout", "60",
                                   "--memory", str(memory), "--json", "-c", code], capture_output=True, text=True, check=False)
        self.assertTrue(finished.stdout, finished.stderr)
        return json.loads(finished.stdout)

    def prints(self, code, language="python"):
        result = self.run_in_jail(code, language)
        self.assertEqual("success", result["status"], result["stderr"])
        return result["stdout"]


def sha256_of_tree(root):
    """Computed as rootfs/build does, without the manifest."""
    archive = subprocess.Popen(["tar", "-C", root, "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu",
                                "--exclude=./manifest.json", "-cf", "-", "."], stdout=subprocess.PIPE)
    digest = hashlib.sha256()
    while block := archive.stdout.read(1 << 20):
        digest.update(block)
    archive.stdout.close()
    if archive.wait():
        raise OSError(f"tar failed on {root}")
    return digest.hexdigest()
