"""`exec --jail FILE`: what the documented example gives a program, what explain prints about it, what is refused."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import live_server
import ordinary_user
import time_scale

PROJECT = pathlib.Path(__file__).resolve().parents[2]
WHY = {"why": "the test looks at it"}


def example():
    """Returns the file in policies/README.md."""
    page = (PROJECT / "policies" / "README.md").read_text(encoding="utf-8")
    return json.loads(re.search(r"## A jail file.*?```json\n(.*?)```", page, re.DOTALL)[1])


class JailFile(unittest.TestCase):
    def setUp(self):
        if obstacle := live_server.host_view.no_user_namespaces():
            self.skipTest(obstacle)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-jail.")).resolve()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        # A volume belongs to the user who runs the jail: exec runs as that user from the start.
        self.binary = self.directory / "agent-sandbox"
        shutil.copy(live_server.BINARY, self.binary)
        for name in ("models", "results"):
            (self.directory / name).mkdir()
        (self.directory / "models" / "weights").write_text("weights", encoding="utf-8")
        self.own(self.directory)
        self.own(self.directory / "results")

    def own(self, path):
        if ordinary_user.NOT_ROOT:
            os.chown(path, ordinary_user.ID, ordinary_user.ID)

    def exec(self, jail, *arguments):
        path = self.directory / "jail.json"
        path.write_text(jail if isinstance(jail, str) else json.dumps(jail), encoding="utf-8")
        # The command runs in another directory: paths in the file are relative to the file's own.
        return subprocess.run([self.binary, "exec", "--rootfs", "host", "--jail", path, *arguments], cwd="/", text=True,
                              capture_output=True, timeout=time_scale.scaled(60), check=False,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.directory)}, **ordinary_user.NOT_ROOT)

    def succeeds(self, stdout, done):
        self.assertEqual((0, stdout, ""), (done.returncode, done.stdout, done.stderr))

    def fails(self, status, fragment, done):
        self.assertEqual((status, ""), (done.returncode, done.stdout), done.stderr)
        self.assertIn(fragment, done.stderr)

    def jail(self):
        jail = example()
        self.assertEqual("/dev/kvm", jail["devices"][0]["path"])
        jail["devices"][0]["path"] = "/dev/tty"  # which every machine has and every user may open
        return jail

    def test_the_documented_file(self):
        code = """
import os, socket
print(open(os.environ['MODELS'] + '/weights').read(), socket.gethostname(), os.path.exists('/dev/tty'))
open('/data/made', 'w').write('by the guest')
print(os.write(os.memfd_create('x'), b'four'))
"""
        self.succeeds("weights trainer True\n4\n", self.exec(self.jail(), "-c", code))
        self.assertEqual("by the guest", (self.directory / "results" / "made").read_text(encoding="utf-8"))
        self.succeeds("mine\n", self.exec(self.jail(), "-c", "import os; print(os.environ['MODELS'])", "--env", "MODELS=mine"))

    def test_without_the_file_there_is_none_of_it(self):
        done = subprocess.run([self.binary, "exec", "--rootfs", "host", "-c",
                               "import os\nfor path in ('/models', '/data', '/dev/tty'): print(os.path.exists(path))\nos.memfd_create('x')"],
                              cwd="/", text=True, capture_output=True, timeout=time_scale.scaled(60), check=False, **ordinary_user.NOT_ROOT)
        self.assertEqual((1, "False\n" * 3), (done.returncode, done.stdout))
        self.assertIn("Function not implemented", done.stderr)

    def test_explain_begins_with_what_is_loosened(self):
        done = self.exec(self.jail(), "--explain", "-c", "pass")
        loosened = done.stdout[:done.stdout.index("clone3 ")]
        self.assertEqual(f"""Loosened:
  volume  /data writes into {self.directory}/results, no programs: checkpoints are kept between runs
  device  /dev/tty, to read and write: it tries kernels in machines of its own
  bind    /models shows {self.directory}/models, read-only: the weights that it starts from
  policy  default with rules added, looser than the default in what follows
  call    memfd_create allow: numba compiles into files in memory
""", loosened)
        self.assertTrue(self.exec({}, "--explain", "-c", "pass").stdout.startswith("Loosened: nothing\nclone3 "))

    def test_a_policy_in_a_file_beside_it(self):
        policy = json.loads((PROJECT / "policies" / "default.json").read_text(encoding="utf-8"))
        policy["name"] = "no network"
        policy["rules"] = [rule for rule in policy["rules"] if "socket" not in rule["syscalls"]]
        (self.directory / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
        code = "import socket\ntry: socket.socket()\nexcept OSError as error: print(error.strerror)"
        for said in ("policy.json", policy):
            self.succeeds("Function not implemented\n", self.exec({"policy": said}, "-c", code))

    def test_mistakes_in_the_file_are_told_with_their_place(self):
        volume = {"source": "results", "target": "/data"}
        for fragment, jail in (("jail.json: not valid JSON", "{"),
                               ("jail.json: volumes[0].why: missing", {"volumes": [volume]}),
                               ("jail.json: volume: unknown field", {"volume": []}),
                               ("jail.json: network.allow[0].why: missing", {"network": {"allow": [{"to": "pypi.org:443"}]}})):
            self.fails(2, fragment, self.exec(jail, "-c", "print(1)"))

    def test_what_no_jail_can_have_is_refused(self):
        link = self.directory / "link"
        link.symlink_to("results")
        (self.directory / "closed" / "inside").mkdir(parents=True)
        (self.directory / "closed").chmod(0)
        self.addCleanup((self.directory / "closed").chmod, 0o700)
        as_user = f"inside as user {ordinary_user.ID if ordinary_user.NOT_ROOT else os.geteuid()}: Permission denied"
        for fragment, jail in (("/jail.json: volumes[0].source: /usr belongs to user 0", {"volumes": [{"source": "/usr", "target": "/data", **WHY}]}),
                               (as_user, {"volumes": [{"source": "closed/inside", "target": "/data", **WHY}]}),
                               ("volumes[0].source: a part of ", {"volumes": [{"source": "link", "target": "/data", **WHY}]}),
                               ("volumes[0].source: /etc is never", {"volumes": [{"source": "/etc", "target": "/data", **WHY}]}),
                               ("volumes[0].target: \"/usr/x\" would cover", {"volumes": [{"source": "results", "target": "/usr/x", **WHY}]}),
                               ("binds[0].source: find ", {"binds": [{"source": "gone", "target": "/data", **WHY}]}),
                               ("devices[0].path: /dev/mem", {"devices": [{"path": "/dev/mem", "access": "read", **WHY}]}),
                               ("devices[0].access: ", {"devices": [{"path": "/dev/tty", "access": "read", **WHY}]}),
                               ("/jail.json: policy ", {"add_rules": [{"syscalls": ["nonsense"], "decision": "allow", **WHY}]}),
                               ("(nonsense): no system call has this name",
                                {"add_rules": [{"syscalls": ["nonsense"], "decision": "allow", **WHY}]})):
            for mode in ((), ("--explain",)):
                self.fails(2, fragment, self.exec(jail, *mode, "-c", "print(1)"))
