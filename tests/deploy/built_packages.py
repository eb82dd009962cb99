"""The packages of this build, made once for each suite that looks at them."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import command_line

PROJECT = command_line.DEPLOY.parents[1]
EPOCH = "1795392000"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=1200, **options)


def build_packages(directory):
    """Name to path. Compressed less than those that are shipped: time is all that differs."""
    made = run("cpack", "--config", command_line.BUILD / "CPackConfig.cmake", "-B", directory,
               "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    if made.returncode != 0:
        raise AssertionError(made.stdout + made.stderr)
    return {path.name.partition("_")[0]: path for path in pathlib.Path(directory).glob("*.deb")}


def field(package, name):
    return run("dpkg-deb", "--field", package, name).stdout.strip()


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps"):
            if shutil.which(tool) is None:
                raise unittest.SkipTest(f"{tool} is not installed")
        if not os.access(command_line.BUILD, os.W_OK):
            raise unittest.SkipTest("cpack writes into the build, which is somebody else's")
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-deploy."))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.directory.chmod(0o755)
        cls.packages = build_packages(cls.directory / "packages")
        cls.runtime = next(name for name in cls.packages if re.fullmatch(r"libjail[\d.]+", name))

    def done(self, finished):
        self.assertEqual(0, finished.returncode, f"{finished.args}\n{finished.stdout}{finished.stderr}")
        return finished.stdout
