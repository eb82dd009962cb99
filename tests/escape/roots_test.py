"""Roots, volumes and binds whose names are links: to the host's files, out of the tree, through /proc, in a circle, to nothing. A jail
starts as from a plain root or is refused by an error that names the path; nothing on the host is shown, made or changed."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import host_view  # noqa: E402
import ordinary_user  # noqa: E402
import time_scale  # noqa: E402

BINARY = os.environ.get("AGENT_SANDBOX_BIN", "")
SECRET = "the secret of the host"
PROGRAMS = ("bash", "cat", "ls", "stat", "readlink")
# Prints what a program sees, in terms that are the same on each root; then reads and writes in many places.
LOOK = r"""
echo null: $(stat -c '%F %t:%T' /dev/null) on $(stat -f -c %T /dev) >&2
echo names: $(ls /dev | grep -v ' ') >&2
echo x > /dev/null && echo written >&2
echo $(stat -f -c %T /proc /tmp /workspace /etc) $(stat -c %F /dev /proc /tmp /workspace /etc) >&2
for top in / /etc /dev /tmp /workspace /usr /usr/lib /usr/share /lib /lib32 /bin /etc/alternatives /etc/fonts /etc/ssl /etc/ssl/certs "$@"; do
  ls $top $top/.. $top/shown; cat $top $top/secret $top/shown/secret
  { echo x > $top/made-by-a-guest; echo x > $top/secret; echo x > $top/shown/made-by-a-guest; } 2>&1
done
cat /etc/passwd /etc/hosts /etc/shadow /etc/ld.so.cache /etc/localtime /etc/services /etc/protocols /dev/console /dev/kmsg
for file in /etc/passwd /etc/hosts /etc/localtime /etc/services /dev/console /dev/full; do echo x > $file; done
true
"""


def libraries_of(program):
    text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", text)


class Roots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.obstacle = host_view.no_user_namespaces()
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="escape-roots.")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        os.chmod(cls.place, 0o755)
        cls.binary = cls.place / "agent-sandbox"
        shutil.copy(BINARY, cls.binary)
        cls.root, cls.shown = cls.place / "root", cls.place / "shown"
        for program in ("grep", *PROGRAMS):
            path = shutil.which(program, path="/usr/bin:/bin")
            for file in (path, *libraries_of(path)):
                target = cls.root / "usr" / os.path.realpath(file).removeprefix("/usr/").lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(os.path.realpath(file), target)
                name = cls.root / "usr" / file.removeprefix("/usr/").lstrip("/")
                name.parent.mkdir(parents=True, exist_ok=True)
                if not name.exists():
                    shutil.copy(file, name)
        # A root is one only where it has a python3; no test runs this one.
        shutil.copy(cls.root / "usr/bin/bash", cls.root / "usr/bin/python3")
        for name in ("bin", "lib", "lib64"):
            (cls.root / "usr" / name).mkdir(exist_ok=True)
            (cls.root / name).symlink_to(f"usr/{name}")
        # The host's own: readable and writable by the user who runs the jails.
        cls.shown.mkdir()
        cls.secret = cls.shown / "secret"
        cls.secret.write_text(SECRET, encoding="ascii")
        cls.give(cls.shown, cls.secret)
        cls.plain = None

    @classmethod
    def give(cls, *paths):
        for path in paths if ordinary_user.NOT_ROOT else ():
            os.chown(path, ordinary_user.ID, ordinary_user.ID, follow_symlinks=False)

    def setUp(self):
        if self.obstacle:
            self.skipTest(f"no user namespaces for this user: {self.obstacle}")
        if type(self).plain is None:
            type(self).plain = self.look()

    def exec(self, *arguments, script=LOOK, root=None):
        """(exit status, what it saw, everything that it and the command said)."""
        program = self.place / "look.sh"
        program.write_text(script, encoding="utf-8")
        done = subprocess.run([self.binary, "exec", "--rootfs", root or self.root, program, "--timeout", f"{time_scale.timeout(20):g}", *arguments],
                              cwd="/", capture_output=True, text=True, errors="replace", check=False, timeout=time_scale.scaled(60),
                              env={"PATH": os.environ["PATH"], "HOME": str(self.place)}, **ordinary_user.NOT_ROOT)
        return done.returncode, "\n".join(re.findall(r"^(?:null|names): .*$|^written$|^proc tmpfs.*$", done.stderr, re.MULTILINE)), done.stdout + done.stderr

    def host(self):
        """Returns the host's files below the place of this test, and the tree that is the root."""
        return {path: (os.lstat(path).st_mtime_ns, os.lstat(path).st_size, os.lstat(path).st_mode)
                for top in (self.root, self.shown) for folder, folders, names in os.walk(top)
                for path in (folder, *(os.path.join(folder, name) for name in folders + names))}

    def look(self, *arguments, refused=None, shows=(), **options):
        """Runs LOOK and returns its output. `refused` is the message where no jail starts."""
        before = self.host()
        status, seen, text = self.exec(*arguments, **options)
        self.assertNotIn(SECRET, text)
        self.assertEqual(SECRET, self.secret.read_text(encoding="ascii"))
        self.assertEqual(before, self.host())
        if refused:
            self.assertNotIn("null: ", text)
            self.assertIn(status, (2, 125), text)
            self.assertRegex(text, refused)
        else:
            self.assertEqual(0, status, text)
        for word in shows:
            self.assertIn(word, text)
        return seen

    @contextlib.contextmanager
    def changed(self, name, make):
        """Replaces `name` in the root."""
        path, kept = self.root / name, self.place / f"kept-{name.replace('/', '-')}"
        there = os.path.lexists(path)
        parents = [parent for parent in path.parents if not os.path.lexists(parent)]
        if there:
            path.rename(kept)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        try:
            yield
        finally:
            if not path.is_symlink() and path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            for parent in parents:
                parent.rmdir()
            if there:
                kept.rename(path)

    def links(self, kind=""):
        """Texts of links that lead to the host's own wherever the link is read outside of a jail."""
        aim = str(self.secret if kind == "file" else self.shown)
        return (aim, "../" * 40 + aim[1:], f"/proc/self/root{aim}", f"/proc/self/cwd{aim}", f"/proc/1/root{aim}", "/", "nowhere", ".", "/dev/stdin")

    def each(self, *groups, **options):
        """Starts one jail for each kind of link; `groups` are names with the texts that they get, all names at once."""
        for number in range(len(groups[0][1]) + 1):
            with contextlib.ExitStack() as stack:
                for names, texts in groups:
                    for name in names:
                        text = [*texts, name.rpartition("/")[2]][number]  # the last one leads to itself
                        stack.enter_context(self.changed(name, lambda path, text=text: path.symlink_to(text)))
                with self.subTest(text=text):
                    self.assertEqual("" if "refused" in options else self.plain, self.look(**options))

    def test_control_what_is_looked_for_would_be_seen(self):
        self.assertRegex(self.plain, r"null: character special file 1:3 on tmpfs\nnames: fd full null .*zero\nwritten\nproc tmpfs .*directory")
        _, _, text = self.exec(script=f"echo {SECRET}")
        self.assertIn(SECRET, text)
        for text in self.links()[:3]:
            with self.changed("dev", lambda path: path.symlink_to(text)):
                self.assertEqual(SECRET, (self.root / "dev" / "secret").read_text(encoding="ascii"))
        before = self.host()
        with self.changed("dev", lambda path: path.mkdir()):
            self.assertNotEqual(before, self.host())

    def test_names_that_are_a_jails_own(self):
        self.each((("dev", "proc", "tmp", "etc", "workspace", "run", "root", "data"), self.links()))

    def test_devices_of_a_tree(self):
        for text in self.links("file"):
            def make(path):
                path.mkdir()
                for name in ("null", "zero", "full", "random", "urandom", "console", "tty", "fd", "shm", "stdin"):
                    (path / name).symlink_to(text)
            with self.subTest(text), self.changed("dev", make):
                self.assertEqual(self.plain, self.look())

    def test_files_and_directories_of_etc(self):
        self.each((("etc/passwd", "etc/ld.so.cache", "etc/localtime", "etc/services"), self.links("file")),
                  (("etc/ssl", "etc/alternatives", "etc/fonts"), self.links()))
        self.each((("etc/ssl/certs",), self.links()[:3]))

    def test_links_inside_of_directories_that_are_copied(self):
        def make(path):
            path.mkdir()
            for number, text in enumerate((*self.links(), *self.links("file"))):
                (path / f"link{number}").symlink_to(text)
            (path / "real").write_text("of the tree", encoding="ascii")
        with contextlib.ExitStack() as stack:
            for name in ("etc/alternatives", "etc/fonts", "etc/ssl/certs"):
                stack.enter_context(self.changed(name, make))
            self.assertEqual(self.plain, self.look(shows=("link0", "real")))

    def test_names_beside_and_below_usr(self):
        self.each((("lib32", "libx32", "sbin", "usr/share", "usr/local", "usr/include"), self.links()))

    def test_where_the_loader_is(self):
        """The jail starts; bash has no loader, or none that is the tree's."""
        for name, texts in (("lib64", self.links()[:4]), ("lib", self.links()[:3]), ("bin", self.links()[:3]), ("usr/lib", ("/usr/lib",)), ("usr/bin", ("/usr/bin",))):
            for text in texts:
                with self.subTest(name, text=text), self.changed(name, lambda path: path.symlink_to(text)):
                    before = self.host()
                    _, seen, said = self.exec()
                    self.assertIn(seen, ("", self.plain), said)
                    self.assertNotIn(SECRET, said)
                    self.assertEqual(before, self.host())

    def test_usr_itself(self):
        self.each((("usr",), ("/usr", *self.links())), refused=re.escape(f"{self.root}/usr"))

    def test_what_would_hold_up_who_opens_it(self):
        with contextlib.ExitStack() as stack:
            for name in ("etc/services", "etc/localtime", "etc/passwd", "etc/alternatives", "lib32"):
                stack.enter_context(self.changed(name, os.mkfifo))
            self.assertEqual(self.plain, self.look())
        with self.changed("manifest.json", os.mkfifo):
            self.look(refused=re.escape(f"{self.root}/manifest.json"))
        for text in (*self.links("file"), "/dev/zero", "/etc/shadow"):
            with self.subTest(text), self.changed("manifest.json", lambda path: path.symlink_to(text)):
                self.look(refused=re.escape(f"{self.root}/manifest.json"))

    def test_a_root_by_a_link(self):
        link = self.place / "link"
        link.symlink_to("root")
        self.assertEqual(self.plain, self.look(root=link))
        link.unlink()
        for text, why in (("link", "cannot be found"), ("nowhere", "cannot be found"), ("/", "the host's own"), ("/proc/self/root", "the host's own"),
                          ("shown/secret", "not a directory|cannot be opened"), ("shown", "cannot be opened")):
            link.symlink_to(text)
            with self.subTest(text):
                self.look(root=link, refused=f"{self.place}/.*{why}|use / as a root: .*{why}|{link}.*{why}")
            link.unlink()

    # --- beside the root

    @contextlib.contextmanager
    def jail_file(self, **fields):
        path = self.place / "jail.json"
        path.write_text(json.dumps({name: [{"why": "the test looks at it", **entry} for entry in entries] for name, entries in fields.items()}), encoding="utf-8")
        yield "--jail", path

    def full_of_links(self, folder):
        folder.mkdir()
        for number, text in enumerate((*self.links(), *self.links("file"), "/etc/shadow", "..", "../..")):
            (folder / f"link{number}").symlink_to(text)
        (folder / "secret").symlink_to(self.secret)
        (folder / "shown").symlink_to(self.shown)
        (folder / "made-by-a-guest").symlink_to(self.shown / "made-by-a-guest")
        self.give(folder)
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def test_volumes_and_directories_full_of_links(self):
        folder = self.full_of_links(self.place / "volume")
        for kind in ("volumes", "binds"):
            with self.subTest(kind), self.jail_file(**{kind: [{"source": str(folder), "target": "/data"}]}) as arguments:
                self.assertEqual(self.plain, self.look(*arguments, "--", "/data", *(f"/data/link{number}" for number in range(21)), shows=("link3",)))

    def test_sources_that_are_links(self):
        folder = self.full_of_links(self.place / "volume")
        for source in (folder / "link0", folder / "link1", folder / "link2", folder / "link6", folder / "shown"):
            with self.subTest(source), self.jail_file(volumes=[{"source": str(source), "target": "/data"}]) as arguments:
                self.assertEqual("", self.look(*arguments, refused=re.escape(f"volumes[0].source") + ".*" + re.escape(str(source))))

    def test_targets_below_links_of_the_root(self):
        folder = self.place / "plain"
        folder.mkdir()
        self.give(folder)
        self.addCleanup(folder.rmdir)
        for name in ("bin", "sbin", "lib32", "etc/alternatives"):
            with self.changed(name, lambda path: path.symlink_to(str(self.shown))):
                for kind in ("volumes", "binds"):
                    for target in (f"/{name}", f"/{name}/data"):
                        with self.subTest(kind, target=target), self.jail_file(**{kind: [{"source": str(folder), "target": target}]}) as arguments:
                            self.look(*arguments, refused=re.escape(f'{kind}[0].target: "{target}"'))
        for name in ("data", "etc/data", "srv"):
            with self.subTest(name), self.changed(name, lambda path: path.symlink_to(str(self.shown))), \
                    self.jail_file(volumes=[{"source": str(folder), "target": f"/{name}/below"}]) as arguments:
                self.assertEqual(self.plain, self.look(*arguments))


if __name__ == "__main__":
    unittest.main()
