"""The same program under every sandbox that this machine has.

Each peer is configured as closely to a jail of ours as it allows: namespaces of every
kind, no network, the host's /usr read-only. One that is missing or cannot do it is left out with
its reason.
"""
import dataclasses
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

from worker import ENVIRONMENT, Worker

PYTHON = "/usr/bin/python3"
DOCKER_IMAGE = "python:3-slim"
MERGED = [(f"/{name}", os.readlink(f"/{name}")) for name in ("bin", "lib", "lib64", "sbin") if os.path.islink(f"/{name}")]


@dataclasses.dataclass
class Peer:
    name: str
    command: list                  # up to the python that runs the program; {n} is another number each run
    prefix: tuple = ()             # the command under which the starting program has to run, once
    bundle: pathlib.Path = None    # the command is in its config.json instead
    prepare: tuple = ()            # command lines, run once before
    clean_up: tuple = ()
    only_bare: bool = False        # its python has no pandas


def oci_bundle(directory, code):
    """The bundle that crun and runc run: an unprivileged container with the host's /usr."""
    root = directory / "rootfs"
    for name in ("usr", "etc", "proc", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    for name, target in MERGED:
        (root / name.lstrip("/")).symlink_to(target)
    bind = [{"destination": path, "type": "none", "source": path, "options": ["rbind", "ro", "nosuid", "nodev"]}
            for path in ("/usr", "/etc")]
    no_capability = {name: [] for name in ("bounding", "effective", "permitted", "inheritable", "ambient")}
    config = {
        "ociVersion": "1.0.2", "hostname": "sandbox", "root": {"path": "rootfs", "readonly": True},
        "process": {"args": [PYTHON, "-c", code], "cwd": "/", "env": ["PATH=/usr/bin:/bin", "LANG=C.UTF-8"],
                    "user": {"uid": 0, "gid": 0}, "noNewPrivileges": True, "capabilities": no_capability},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                   {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]}, *bind],
        "linux": {"namespaces": [{"type": name} for name in ("pid", "network", "ipc", "uts", "mount", "user")],
                  "uidMappings": [{"containerID": 0, "hostID": os.geteuid(), "size": 1}],
                  "gidMappings": [{"containerID": 0, "hostID": os.getegid(), "size": 1}]}}
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")


def crun_prefix():
    """crun refuses a host with both cgroup versions, whether it is to use them or not."""
    if os.geteuid() == 0 and os.path.isdir("/sys/fs/cgroup/unified"):
        return ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh")
    return ()


def known(directory):
    """Every launcher that we know how to ask."""
    links = [word for path, target in MERGED for word in ("--symlink", target, path)]
    nsjail_links = [word for path, target in MERGED for word in ("-s", f"{target}:{path}")]
    boxes = [f"--box-id={number}" for number in range(8)]
    return [
        Peer("bubblewrap", ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", *links,
                            "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv",
                            "--", PYTHON]),
        Peer("crun", ["crun", "--cgroup-manager=disabled", "--root", str(directory / "crun.state"), "run", "-b",
                      str(directory / "crun"), "bench-{n}"], prefix=crun_prefix(), bundle=directory / "crun"),
        Peer("runc", ["runc", "--root", str(directory / "runc.state"), "run", "-b", str(directory / "runc"), "bench-{n}"],
             bundle=directory / "runc"),
        Peer("firejail", ["firejail", "--quiet", "--noprofile", "--net=none", "--private", "--private-dev", PYTHON]),
        Peer("nsjail", ["nsjail", "-Mo", "--really_quiet", "-R", "/usr", *nsjail_links, "-T", "/tmp", "--", PYTHON]),
        Peer("isolate", ["isolate", "--box-id={w}", "--processes=64", "--run", "--", PYTHON],
             prepare=tuple(("isolate", box, "--init") for box in boxes),
             clean_up=tuple(("isolate", box, "--cleanup") for box in boxes)),
        Peer("sandlock", ["sandlock", "run", *(word for path in ("/usr", "/lib", "/lib64", "/bin", "/etc") for word in ("-r", path)),
                          "-w", "/tmp", "--", PYTHON]),
        Peer("docker", ["docker", "run", "--rm", "--network=none", "--pull=never", DOCKER_IMAGE, "python3"], only_bare=True),
    ]


def first_line(text):
    return next((line.strip() for line in text.splitlines() if line.strip()), "no word of it")


def try_once(command):
    """Returns (output, reason of a failure)."""
    try:
        done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    return done.stdout, f"status {done.returncode}: {first_line(done.stderr)}"


class Launchers:
    """The launchers that work here, for one program; `missing` names the others with the reason."""

    def __init__(self, spawn, directory, code, expected, more=None, bare=True):
        self.missing, self._workers, self._of, self._clean_up = {}, {}, {}, []
        directory.mkdir()
        lines = {}
        plain = {"python3": [PYTHON, "-c", code], **(more or {})}
        for name, command in plain.items():
            lines.setdefault((), {})[name] = command
        for peer in known(directory):
            reason, command = self._try(peer, code, expected, bare)
            if reason:
                self.missing[peer.name] = reason
            else:
                lines.setdefault(peer.prefix, {})[peer.name] = command
        for number, (prefix, commands) in enumerate(lines.items()):
            path = directory / f"commands.{number}"
            path.write_text("".join("\t".join((name, expected, *command)) + "\n" for name, command in commands.items()),
                            encoding="utf-8")
            self._workers[prefix] = Worker(*prefix, spawn, str(path))
            self._of |= {name: prefix for name in commands}

    def _try(self, peer, code, expected, bare):
        if shutil.which(peer.command[0]) is None:
            return "not on PATH", None
        if peer.only_bare and not bare:
            return "its python has no pandas", None
        command = peer.command if peer.bundle else [*peer.command, "-c", code]
        if peer.bundle:
            peer.bundle.mkdir()
            oci_bundle(peer.bundle, code)
        for line in peer.prepare:
            try_once(line)
        self._clean_up += peer.clean_up
        trial = [word.replace("{n}", "trial").replace("{w}", "0") for word in command]
        printed, said = try_once([*peer.prefix, *trial])
        return (None, command) if printed == f"{expected}\n" else (f"does not run it: {said}", None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self._workers.values():
            worker.close()
        for line in self._clean_up:
            try_once(line)

    @property
    def names(self):
        return list(self._of)

    def once(self, name):
        return self._workers[self._of[name]].ask("once", name, separator="\t")

    def flood(self, name, clients, seconds):
        return self._workers[self._of[name]].ask("flood", name, clients, seconds, separator="\t")


class GoJudge:
    """A go-judge server on a free port; `missing` is the reason where it cannot run."""

    def __init__(self, load, directory, code, expected):
        self.missing, self._server, self.load = None, None, None
        if shutil.which("go-judge") is None:
            self.missing = "not on PATH"
            return
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._server = subprocess.Popen(["go-judge", "-http-addr", f"127.0.0.1:{port}", "-silent"], env=ENVIRONMENT,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        files = [{"content": ""}, {"name": "stdout", "max": 65536}, {"name": "stderr", "max": 65536}]
        body = directory / "go-judge.json"
        body.write_text(json.dumps({"cmd": [{
            "args": [PYTHON, "-c", code], "env": ["PATH=/usr/bin:/bin"], "files": files, "cpuLimit": 10 ** 10,
            "clockLimit": 2 * 10 ** 10, "memoryLimit": 1 << 30, "procLimit": 64}]}), encoding="utf-8")
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        self.load = Worker(load, str(port), "/run", str(body), f'"stdout":{json.dumps(expected + chr(10))}')
        try:
            self.load.ask("closed", 1, 1)
        except Exception as error:  # pylint: disable=broad-except
            self.missing = f"does not run it: {error}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.load:
            self.load.close()
        if self._server:
            self._server.terminate()
            self._server.wait()
