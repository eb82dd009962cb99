"""A directory of a sandbox as a tar archive: read, and made from one."""
import gzip
import io
import os
import random
import subprocess
import tarfile
import tempfile

import living_sandbox

TAR = "application/x-tar"
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def member(name, content=b"", kind=tarfile.REGTYPE, **fields):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def archive(*members, form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


class TarTest(living_sandbox.SandboxTest):
    @staticmethod
    def put_tar(sandbox, path, body):
        return sandbox.put(path, body, **{"Content-Type": TAR})

    def unpack(self, sandbox, path, body, status=200):
        answer = self.put_tar(sandbox, path, body)
        self.assertEqual(status, answer.status, answer)
        return answer

    def get_tar(self, sandbox, path):
        answer = sandbox.get(path, Accept=TAR)
        self.assertEqual((200, TAR), (answer.status, answer.headers["Content-Type"]), answer)
        return answer.body

    def members(self, sandbox, path):
        with tarfile.open(fileobj=io.BytesIO(self.get_tar(sandbox, path))) as tar:
            return {info.name: (info, tar.extractfile(info).read() if info.isreg() else b"") for info in tar}

    @staticmethod
    def said(sandbox, command):
        return sandbox.run(command)["stdout"]


class Read(TarTest):
    def test_what_is_in_it(self):
        sandbox = self.make()
        long = "x" * 200
        sandbox.run(f"cd /workspace; mkdir -p d/{long}/{long} empty; echo hello > d/f; chmod 750 d/f; ln -s ../nowhere d/link;"
                    f"mkfifo pipe; echo deep > d/{long}/{long}/f; touch -d @1000000000 d/f; head -c 700000 /dev/zero > zeros;"
                    f"echo umlaut > grün; ln -s {'y' * 300} toolong")
        members = self.members(sandbox, "/workspace")
        self.assertEqual({"d", "d/f", "d/link", "empty", f"d/{long}", f"d/{long}/{long}", f"d/{long}/{long}/f", "zeros", "grün",
                          "toolong"}, set(members))
        info, content = members["d/f"]
        self.assertEqual((b"hello\n", 0o750, 1000000000), (content, info.mode, info.mtime))
        self.assertEqual("../nowhere", members["d/link"][0].linkname)
        self.assertEqual("y" * 300, members["toolong"][0].linkname)
        self.assertEqual(bytes(700000), members["zeros"][1])
        self.assertTrue(members["empty"][0].isdir())
        answer = sandbox.get("/workspace", "?tar=true")
        self.assertEqual(members.keys(), set(tarfile.open(fileobj=io.BytesIO(answer.body)).getnames()))

    def test_gnu_tar_reads_it(self):
        sandbox = self.make()
        sandbox.run(f"cd /workspace; mkdir -p {'a' * 150}/{'b' * 150}; echo x > {'a' * 150}/{'b' * 150}/{'c' * 150}")
        listed = subprocess.run(["tar", "-t"], input=self.get_tar(sandbox, "/workspace"), capture_output=True, check=True)
        self.assertEqual(b"", listed.stderr)
        self.assertIn(f"{'a' * 150}/{'b' * 150}/{'c' * 150}\n".encode(), listed.stdout)

    def test_an_empty_one_and_refusals(self):
        sandbox = self.make()
        sandbox.put("/workspace/d/f", b"x")
        sandbox.remove("/workspace/d/f")
        self.assertEqual({}, self.members(sandbox, "/workspace/d"))
        self.assert_problem(404, "no_such_file", sandbox.get("/workspace/none", Accept=TAR))
        sandbox.put("/workspace/f", b"x")
        self.assert_problem(409, "not_a_directory", sandbox.get("/workspace/f", "?tar=true"))
        self.assert_bad_field(sandbox.get("/workspace", "?tar=true&list=true"), "one of them")

    def test_it_is_what_was_unpacked(self):
        sandbox = self.make()
        rng = random.Random(4)
        files = {f"{'d' * rng.randrange(1, 120)}/{n}-{'n' * rng.randrange(1, 95)}": rng.randbytes(rng.choice((0, 1, 511, 512, 513, 70000)))
                 for n in range(60)}
        for name, form in FORMATS.items():
            with self.subTest(form=name):
                path = f"/workspace/{name}"
                self.unpack(sandbox, path, archive(*(member(*file) for file in files.items()), form=form), 201)
                found = {name: content for name, (info, content) in self.members(sandbox, path).items() if info.isreg()}
                self.assertEqual(files, found)
                sandbox.remove(path, "?recursive=true")


class Unpack(TarTest):
    def test_files_directories_and_links(self):
        sandbox = self.make()
        answer = self.unpack(sandbox, "/workspace/new/place", archive(
            member("./", kind=tarfile.DIRTYPE), member("./d", kind=tarfile.DIRTYPE, mode=0o700),
            member("./d/run", b"#!/bin/sh\necho ran\n", mode=0o755, mtime=1000000000), member("no/parents/f", b"x"),
            member("d/link", kind=tarfile.SYMTYPE, linkname="../d/run"), member("hard", kind=tarfile.LNKTYPE, linkname="./d/run")), 201)
        self.assertEqual(("/workspace/new/place", "directory"), (answer.json["path"], answer.json["type"]))
        said = self.said(sandbox, "cd /workspace/new/place; ./d/link; ./hard; stat -c '%a %h %Y' d/run; stat -c %a d no/parents; cat no/parents/f; find . | wc -l")
        self.assertEqual("ran\nran\n755 2 1000000000\n700\n755\nx8\n", said)
        sandbox.run("echo more >> /workspace/new/place/d/run; rm -r /workspace/new/place/d")

    def test_what_is_there_is_replaced(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /workspace/t/keep /tmp/out; cd /workspace/t; echo old > f; echo old > /tmp/out/f; ln -s /tmp/out/f l; echo kept > keep/k")
        self.unpack(sandbox, "/workspace/t", archive(member("f", b"new"), member("l", b"new"), member("keep", kind=tarfile.DIRTYPE),
                                                     member("f2", kind=tarfile.SYMTYPE, linkname="f"), member("f2", b"again")))
        self.assertEqual("new\nnew\nold\nkept\nagain\n", self.said(sandbox, "cd /workspace/t; cat f; echo; cat l; echo; cat /tmp/out/f keep/k; cat f2; echo; test ! -L l"))

    def test_by_gnu_tar(self):
        with tempfile.TemporaryDirectory() as directory:
            os.makedirs(f"{directory}/{'a' * 99}/{'b' * 120}")
            for name in ("x", f"{'a' * 99}/{'b' * 120}/{'c' * 200}"):
                with open(f"{directory}/{name}", "wb") as file:
                    file.write(name.encode())
            for form in ("gnu", "pax", "ustar", "v7"):
                with self.subTest(form=form):
                    names = ["x"] if form in ("v7", "ustar") else ["."]
                    body = subprocess.run(["tar", "-C", directory, f"--format={form}", "-c", *names], capture_output=True, check=True).stdout
                    sandbox = self.make()
                    self.unpack(sandbox, "/workspace/t", body, 201)
                    self.assertEqual(b"x", sandbox.get("/workspace/t/x").body)
                    if names == ["."]:
                        name = f"{'a' * 99}/{'b' * 120}/{'c' * 200}"
                        self.assertEqual(name.encode(), sandbox.get(f"/workspace/t/{name}").body)

    def test_a_body_of_any_shape(self):
        sandbox = self.make()
        body = archive(member("f", b"content"))
        # Bytes may follow the end, as on tapes.
        self.unpack(sandbox, "/workspace/t", body + bytes(1 << 20), 201)
        self.assertEqual(b"content", sandbox.get("/workspace/t/f").body)
        cut = body[:512 + 100]
        for broken in (b"", b"x", b"not a tar archive" * 100, cut, body[:1024], gzip.compress(body), os.urandom(4096)):
            self.assert_bad_field(self.put_tar(sandbox, "/workspace/t", broken), "body: ")


class Hostile(TarTest):
    def test_names_that_lead_out(self):
        sandbox = self.make()
        for name in ("/etc/x", "../x", "a/../../x", "a/b/../../../x", "..", "/"):
            with self.subTest(name=name):
                self.assert_bad_field(self.put_tar(sandbox, "/workspace/t", archive(member(name, b"x"))))
        self.assertEqual("t\n", self.said(sandbox, "ls /workspace"))

    def test_links_that_lead_out(self):
        sandbox = self.make()
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            for target in ("/etc/passwd", "../x", "d/../../x", "", "/"):
                with self.subTest(kind=kind, target=target):
                    body = archive(member("d", kind=tarfile.DIRTYPE), member("l", kind=kind, linkname=target))
                    self.assert_bad_field(self.put_tar(sandbox, "/workspace/t", body))
        self.assert_problem(409, "not_a_directory", self.put_tar(sandbox, "/workspace/t", archive(
            member("d", kind=tarfile.DIRTYPE), member("l", kind=tarfile.SYMTYPE, linkname="d"), member("l/x", b"through"))))
        self.assertEqual("d\nl\n", self.said(sandbox, "cd /workspace/t; find . -mindepth 1 -printf '%P\\n' | sort"))

    def test_nothing_is_written_through_a_link_that_is_there(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /workspace/t /tmp/out; ln -s /tmp/out /workspace/t/d; echo secret > /tmp/out/s")
        self.assert_problem(409, "not_a_directory", self.put_tar(sandbox, "/workspace/t", archive(member("d/x", b"x"))))
        self.assert_problem(409, "not_a_directory", self.put_tar(sandbox, "/workspace/t", archive(member("d", kind=tarfile.DIRTYPE))))
        self.assert_problem(409, "not_a_directory", self.put_tar(sandbox, "/workspace/t", archive(member("l", kind=tarfile.LNKTYPE, linkname="d/s"))))
        self.assertEqual("s\n", self.said(sandbox, "ls /tmp/out"))
        self.assertEqual(["d"], list(self.members(sandbox, "/workspace/t")))

    def test_what_is_no_file(self):
        sandbox = self.make()
        for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE, b"Z"):
            with self.subTest(kind=kind):
                self.assert_bad_field(self.put_tar(sandbox, "/workspace/t", archive(member("n", kind=kind, devmajor=1, devminor=3))))
        self.assertEqual("", self.said(sandbox, "ls -A /workspace/t"))

    def test_bombs(self):
        sandbox = self.make(limits={"disk_mb": 8, "memory_mb": 128})
        info, _ = member("huge")
        info.size = 1 << 40
        body = info.tobuf(tarfile.GNU_FORMAT) + bytes(16 << 20)
        self.assert_problem(507, "disk_full", self.put_tar(sandbox, "/workspace/t", body))
        self.assertEqual("", self.said(sandbox, "ls -A /workspace/t"), "what was begun is removed")
        files = archive(*(member(f"d/{number}") for number in range(20000)))
        answer = self.put_tar(sandbox, "/workspace/t", files)
        self.assert_problem(507, "disk_full", answer, "it has no room for another name")
        self.assertEqual(answer.json["limit"], answer.json["used"], answer)
        sandbox.run("rm -r /workspace/t")
        deep = archive(member("/".join("d" for _ in range(1500)) + "/f", b"x"))
        self.unpack(sandbox, "/workspace/t", deep, 201)
        long = archive(member("x" * 70000, b"x"))
        self.assert_bad_field(self.put_tar(sandbox, "/workspace/t", long), "too long")
        self.assertEqual("running", sandbox.now()["state"])

    def test_a_tree_that_changes_while_it_is_read(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /workspace/t/d /tmp/out; echo secret > /tmp/out/secret; head -c 3000000 /dev/zero > /workspace/t/d/big")
        swapper = sandbox.start(["python3", "-c", """
import ctypes, os
libc = ctypes.CDLL(None)
os.chdir('/workspace/t')
os.symlink('/tmp/out', 'l')
print('ready', flush=True)
while True:
    libc.renameat2(-100, b'd', -100, b'l', 2)
    os.truncate('/workspace/t/' + ('d' if os.path.exists('d/big') else 'l') + '/big', 1000)
    os.truncate('/workspace/t/' + ('d' if os.path.exists('d/big') else 'l') + '/big', 3000000)
"""])
        swapper.says("ready")
        for _ in range(100):
            self.assertNotIn("secret", " ".join(self.members(sandbox, "/workspace/t")))
        self.assertEqual("running", swapper.now()["state"])
