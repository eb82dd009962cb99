"""A small Debian in a temporary directory, and commands that have it as their root."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import command_line

# The messages when the archive cannot be reached, which is not the fault of a package.
NO_ARCHIVE = re.compile(r"could not resolve|failed to fetch|unable to connect|connection (?:failed|timed)", re.IGNORECASE)
# This uses pivot_root and not chroot: in a chroot the kernel lets nobody make a user namespace.
ENTER = """
set -eu
mount --bind "$1" "$1"; cd "$1"
mount -t proc proc proc; mount --rbind /dev dev; mount --rbind /sys sys
mkdir .outside; pivot_root . .outside; cd /; umount -l .outside; rmdir .outside
shift; exec "$@"
"""
# These belong to the running host, not to a package.
NOT_FILES = ("proc", "sys", "dev", "run", "packages", "tmp", "var/log", "var/cache", "var/lib/apt", "var/lib/dpkg",
             "etc/shadow-", "etc/gshadow-")  # how these were before the last change of users


class Unreachable(Exception):
    """The archive of packages is out of reach, or nothing here can make a root from it."""


def suite():
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    return re.search(r"^VERSION_CODENAME=(\w+)", text, re.MULTILINE).group(1)


def make_archive(packages, path):
    """A tar of a root with `packages` and apt, as of today's archive."""
    if shutil.which("mmdebstrap") is None:
        raise Unreachable("mmdebstrap is not installed")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.parent / "unfinished.tar"
    made = subprocess.run(["mmdebstrap", "--mode=root", "--variant=apt", f"--include={','.join(packages)}", suite(), unfinished],
                          capture_output=True, text=True, check=False, timeout=500)
    if made.returncode != 0:
        if reason := NO_ARCHIVE.search(made.stderr):
            raise Unreachable(f"the package archive cannot be reached: {reason.group()}")
        raise AssertionError(made.stderr[-4000:])
    for older in path.parent.glob("root-*.tar"):
        older.unlink()
    unfinished.rename(path)


class DebianRoot:
    """Needs root. The archive is kept beside the build, since it takes a minute to make."""

    def __init__(self, directory, packages):
        packages = sorted(packages)
        key = hashlib.sha256(" ".join((suite(), *packages)).encode()).hexdigest()[:12]
        archive = command_line.BUILD / "deploy" / f"root-{key}.tar"
        if not archive.exists():
            make_archive(packages, archive)
        self.path = pathlib.Path(directory)
        subprocess.run(["tar", "-C", self.path, "--exclude=./dev/*", "-xf", archive], check=True, timeout=300)

    def run(self, *command, user=None, environment=()):
        """Runs the command in namespaces of its own, so that its mounts and processes end with it."""
        if user is not None:
            command = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command)
        variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8",
                     "DEBIAN_FRONTEND": "noninteractive", **dict(environment)}
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation=private", "sh", "-c", ENTER, "enter",
                               self.path, *command], capture_output=True, text=True, check=False, timeout=300, env=variables)

    def files(self):
        """Returns all paths except those that change by themselves."""
        found = set()
        for folder, folders, names in os.walk(self.path):
            place = pathlib.Path(folder).relative_to(self.path)
            folders[:] = [name for name in folders if (place / name).as_posix() not in NOT_FILES]
            found.update({(place / name).as_posix() for name in (*folders, *names)} - {*NOT_FILES})
        return found
