"""The root that rootfs/build made: its content, who may write into it, and that programs start in it at once."""
import json
import os
import pathlib
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import built_root  # noqa: E402


class Root(built_root.RootTest):
    def nodes(self):
        for folder, folders, files in os.walk(self.root.resolve()):
            for name in (*folders, *files):
                path = pathlib.Path(folder, name)
                yield path, path.lstat()

    def test_tree_is_as_recorded(self):
        self.assertEqual(self.manifest["tree"], built_root.sha256_of_tree(self.root.resolve()))

    def test_everybody_reads_and_nobody_else_writes(self):
        owner = self.root.resolve().stat().st_uid
        self.assertIn(owner, (0, os.geteuid()))
        count = 0
        for path, status in self.nodes():
            count += 1
            if stat.S_ISLNK(status.st_mode):
                continue
            self.assertEqual(owner, status.st_uid, path)
            self.assertTrue(stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode), path)
            self.assertFalse(status.st_mode & 0o7022, f"{path} has mode {status.st_mode:o}")
            readable = 0o555 if stat.S_ISDIR(status.st_mode) else 0o444
            self.assertEqual(readable, status.st_mode & readable, f"{path} has mode {status.st_mode:o}")
        self.assertGreater(count, 10_000)

    def test_only_what_a_guest_may_see(self):
        self.assertLessEqual({path.name for path in self.root.resolve().iterdir()},
                             {"usr", "etc", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "manifest.json"})
        for name in ("passwd", "shadow", "hostname", "machine-id", "resolv.conf", "apt"):
            self.assertFalse((self.root / "etc" / name).exists(), name)

    def test_packages_are_those_of_the_list(self):
        recorded = {package["name"]: package for package in self.manifest["packages"]}
        self.assertFalse(set(built_root.packages("")) - set(recorded))
        self.assertFalse(set(built_root.packages("!")) & set(recorded))
        for package in recorded.values():
            self.assertRegex(package["sha256"], "^[0-9a-f]{64}$", package)
            self.assertTrue(package["version"] and package["architecture"], package)

    def test_versions_are_those_of_the_manifest(self):
        languages = self.manifest["languages"]
        self.assertEqual(languages["python"], self.prints("import platform; print(platform.python_version())").strip())
        self.assertEqual("v" + languages["node"], self.prints("console.log(process.version)", "javascript").strip())
        self.assertEqual(languages["esbuild"], self.prints("esbuild --version", "bash").strip())
        self.assertTrue(languages["bash"].startswith(self.prints('echo "${BASH_VERSION%%(*}"', "bash").strip()))

    def test_every_module_has_its_bytecode(self):
        code = ("import glob, os, sys\n"
                "for base in (os.path.dirname(os.__file__), '/usr/lib/python3/dist-packages/pandas', '/usr/lib/python3/dist-packages/matplotlib'):\n"
                "    sources = glob.glob(base + '/**/*.py', recursive=True)\n"
                "    missing = [p for p in sources if not os.path.exists(os.path.join(os.path.dirname(p), '__pycache__',\n"
                "               os.path.basename(p)[:-3] + f'.{sys.implementation.cache_tag}.pyc'))]\n"
                "    print(len(sources) > 20, [p for p in missing if os.access(p, os.R_OK)][:5])\n")
        self.assertEqual("True []\n" * 3, self.prints(code))

    def test_bytecode_is_not_compared_with_times(self):
        compiled, = (self.root / "usr/lib/python3/dist-packages/pandas/__pycache__").glob("__init__.cpython-*.pyc")
        self.assertEqual(b"\1\0\0\0", compiled.read_bytes()[4:8], "flags of PEP 552: hash based, not checked")

    def test_start_of_python_imports_nothing_of_its_own(self):
        python, = (self.root / "usr/lib").glob("python3.*")
        self.assertEqual([], [*python.glob("sitecustomize.py"), *(self.root / "usr/lib/python3/dist-packages").glob("*.pth")])
        loaded = self.prints("import sys; print('sitecustomize' in sys.modules, 'importlib.util' in sys.modules)")
        self.assertEqual("False False\n", loaded)

    def test_libraries_are_whole_without_their_tests(self):
        self.prints("import numpy.testing, pandas.testing, matplotlib.testing, sympy, openpyxl, tabulate, requests, scipy.stats")

    def test_plots_need_no_search_for_fonts(self):
        code = ("import matplotlib.pyplot as plt, os\n"
                "plt.plot([1, 2]); plt.title('Größe'); plt.savefig('/tmp/a.png')\n"
                "print(os.path.getsize('/tmp/a.png') > 5000, [f for _, _, fs in os.walk('/tmp') for f in fs])")
        result = self.run_in_jail(code)
        self.assertEqual(("True ['a.png']\n", ""), (result["stdout"], result["stderr"]))

    def test_what_maintainer_scripts_would_have_done(self):
        shell = ("awk 'BEGIN { print substr(\"abc\", 2) }'; which ls; date +%Z; TZ=Europe/Berlin date -d @0 +%Z\n"
                 "jq -r .a <<<'{\"a\": 1}'; echo 2^70 | bc; echo x | file -; id -un")
        self.assertEqual("bc\n/usr/bin/ls\nUTC\nCET\n1\n1180591620717411303424\n/dev/stdin: ASCII text\nsandbox\n",
                         self.prints(shell, "bash"))
        python = ("import ssl, locale, zoneinfo, mimetypes, numpy, os, subprocess\n"
                  "assert os.system('exit 3') == 3 << 8 and subprocess.check_output('echo $0', shell=True) == b'/bin/sh\\n'\n"
                  "print(len(ssl.create_default_context().get_ca_certs()) > 50, locale.setlocale(locale.LC_ALL, ''),\n"
                  "      zoneinfo.ZoneInfo('Asia/Tokyo'), mimetypes.guess_type('a.csv')[0], numpy.linalg.det(numpy.eye(300)))")
        self.assertEqual("True C.UTF-8 Asia/Tokyo text/csv 1.0\n", self.prints(python))

    def test_second_build_does_nothing(self):
        if self.root != pathlib.Path(subprocess.run([built_root.BUILD, "--where"], capture_output=True, text=True,
                                                    check=True).stdout.strip()):
            self.skipTest(f"{self.root} belongs to another user's place")
        before = os.readlink(self.root)
        finished = subprocess.run([built_root.BUILD], capture_output=True, text=True, check=False)
        self.assertEqual((0, f"rootfs: {self.root} is up to date\n"), (finished.returncode, finished.stderr))
        self.assertEqual(before, os.readlink(self.root))

    def test_doctor_names_it(self):
        finished = subprocess.run([built_root.BINARY, "doctor", "--json", "--rootfs", self.root], capture_output=True,
                                  text=True, check=False)
        checks = {check["name"]: check for check in json.loads(finished.stdout)["checks"]}
        self.assertEqual("ok", checks["root"]["state"])
        self.assertIn(str(self.root.resolve()), checks["root"]["found"])
        for word in ("python " + self.manifest["languages"]["python"], "javascript " + self.manifest["languages"]["node"], "typescript"):
            self.assertIn(word, checks["root"]["found"])
