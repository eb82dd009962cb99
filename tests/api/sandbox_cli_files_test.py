"""agent-sandbox sandbox cp, ls and rm."""
import json
import os
import signal
import stat
import subprocess

import time_scale
from sandbox_command import Command


class Files(Command):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def write(self, name, content, mode=0o644):
        path = self.directory / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def test_there_and_back(self):
        content = os.urandom(5_000_000)
        path = self.write("a b ü.bin", content, 0o751)
        self.good("cp", path, f"{self.sandbox}:/workspace/new/c d?.bin")
        self.assertEqual((0, "751\n", ""), self.exec(self.sandbox, "stat", "-c", "%a", "/workspace/new/c d?.bin"))
        self.good("cp", f"{self.sandbox}:/workspace/new/c d?.bin", "back.bin")
        back = self.directory / "back.bin"
        self.assertTrue(content == back.read_bytes())
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(0o751 & ~umask, stat.S_IMODE(back.stat().st_mode))
        self.assertEqual({"a b ü.bin", "back.bin"}, set(os.listdir(self.directory)))

    def test_into_directories(self):
        path = self.write("file.txt", b"text")
        for place in ("/workspace", "/workspace/", "/tmp/"):
            self.good("cp", path, f"{self.sandbox}:{place}")
        self.assertEqual((0, "texttext", ""), self.exec(self.sandbox, "cat", "/workspace/file.txt", "/tmp/file.txt"))
        (self.directory / "folder").mkdir()
        self.good("cp", f"{self.sandbox}:/tmp/file.txt", "folder")
        self.assertEqual(b"text", (self.directory / "folder" / "file.txt").read_bytes())

    def test_without_a_path_it_is_the_working_directory(self):
        sandbox = self.make("--workdir", "/workspace/app")
        path = self.write("file.txt", b"text")
        self.good("cp", path, f"{sandbox}:")
        self.assertEqual((0, "text", ""), self.exec(sandbox, "cat", "/workspace/app/file.txt"))
        self.good("cp", "-r", f"{sandbox}:", "out")
        self.assertEqual(b"text", (self.directory / "out/file.txt").read_bytes())

    def test_a_relative_path_begins_where_processes_start(self):
        sandbox = self.make("--workdir", "/workspace/app")
        path = self.write("file.txt", b"text")
        self.good("cp", path, f"{sandbox}:sub/there")
        self.good("cp", path, f"{sandbox}:./here")
        self.assertEqual((0, "texttext", ""), self.exec(sandbox, "cat", "sub/there", "here"))
        self.assertEqual("text", self.good("cp", f"{sandbox}:here", "-"))
        self.assertIn(" there\n", self.good("ls", sandbox, "sub"))
        self.assertIn(" here\n", self.good("ls", sandbox, "."))
        self.assertIn("/workspace/app/here?", self.good("url", sandbox, "here"))
        self.good("rm", sandbox, "here")
        self.assertIn("/workspace/app/here", self.one_line("rm", sandbox, "here"))

    def test_a_place_as_cp_has_it_is_two_words(self):
        for subcommand in ("ls", "rm", "url", "watch"):
            status, _, error = self.run_it(subcommand, "box:/app")
            self.assertEqual(2, status)
            self.assertIn(f"agent-sandbox: sandbox {subcommand}: expected ID and PATH as two words: box /app\n", error)
        self.assertEqual("agent-sandbox: no such sandbox: box:/app\n", self.one_line("get", "box:/app"))

    def test_standard_streams(self):
        content = os.urandom(200_000)
        self.assertEqual((0, b"", b""), self.bytes_of("cp", "-", f"{self.sandbox}:/tmp/x", input=content))
        status, out, error = self.bytes_of("cp", f"{self.sandbox}:/tmp/x", "-")
        self.assertEqual((0, b""), (status, error))
        self.assertTrue(content == out)
        self.assertIn("name of a file", self.one_line("cp", "-", f"{self.sandbox}:/tmp"))

    def test_directories(self):
        tree = self.directory / "tree"
        (tree / "a" / "b c").mkdir(parents=True)
        (tree / "empty").mkdir()
        for name in ("top", "a/middle", "a/b c/ü"):
            (tree / name).write_bytes(name.encode())
        (tree / "top").chmod(0o755)
        (tree / "link").symlink_to("/etc/passwd")
        status, out, error = self.run_it("cp", "-r", "tree", f"{self.sandbox}:/workspace/new")
        self.assertEqual((1, "", "agent-sandbox: tree/link is neither a file nor a directory and was left out\n"), (status, out, error))
        found = self.exec(self.sandbox, "sh", "-c", "cd new; find . | LC_ALL=C sort; stat -c %a top; cat top a/middle 'a/b c/ü'")[1]
        self.assertEqual(".\n./a\n./a/b c\n./a/b c/ü\n./a/middle\n./empty\n./top\n755\ntopa/middlea/b c/ü", found)
        (tree / "link").unlink()
        self.good("cp", "--recursive", f"{self.sandbox}:/workspace/new", "back")
        self.good("cp", "--recursive", f"{self.sandbox}:/workspace/new", "back")  # which is there by now
        for place in ("back", "back/new"):
            for name in ("top", "a/middle", "a/b c/ü"):
                self.assertEqual(name.encode(), (self.directory / place / name).read_bytes())
            self.assertTrue((self.directory / place / "empty").is_dir())
        self.good("cp", "-r", "tree/", f"{self.sandbox}:/workspace/new")
        self.assertEqual((0, "top", ""), self.exec(self.sandbox, "cat", "new/tree/top"))

    def test_a_tree_of_a_guest_makes_no_links_here(self):
        self.assertEqual(0, self.exec(self.sandbox, "sh", "-c", "mkdir t && ln -s /tmp t/a && ln -s / t/b && touch t/x")[0])
        status, _, error = self.run_it("cp", "-r", f"{self.sandbox}:/workspace/t", "t")
        self.assertEqual((1, 2), (status, error.count("was left out\n")), error)
        self.assertEqual(["x"], os.listdir(self.directory / "t"))

    def test_a_fifo(self):
        content = os.urandom(200_000)
        os.mkfifo(self.directory / "fifo")
        process = self.start("cp", "fifo", f"{self.sandbox}:/tmp/x")
        with open(self.directory / "fifo", "wb") as fifo:  # which waits for the other end
            fifo.write(content)
        self.assertEqual(0, process.wait(time_scale.scaled(20)))
        self.assertTrue(content == self.bytes_of("cp", f"{self.sandbox}:/tmp/x", "-")[1])
        process = self.start("cp", "fifo", f"{self.sandbox}:/tmp/y")
        writer = os.open(self.directory / "fifo", os.O_WRONLY)
        self.addCleanup(os.close, writer)
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(time_scale.scaled(20)))

    def test_an_empty_file(self):
        self.good("cp", self.write("empty", b""), f"{self.sandbox}:/tmp/empty")
        self.good("cp", f"{self.sandbox}:/tmp/empty", "back")
        self.assertEqual(b"", (self.directory / "back").read_bytes())

    def test_links_and_devices_here_are_written_through(self):
        self.assertEqual(0, self.exec(self.sandbox, "sh", "-c", "echo new > /tmp/x")[0])
        self.write("real", b"old")
        (self.directory / "link").symlink_to("real")
        self.good("cp", f"{self.sandbox}:/tmp/x", "link")
        self.assertTrue((self.directory / "link").is_symlink())
        self.assertEqual(b"new\n", (self.directory / "real").read_bytes())
        self.good("cp", f"{self.sandbox}:/tmp/x", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_what_cannot_be_copied(self):
        path = self.write("file.txt", b"text")
        self.assertIn("/tmp is a directory", self.one_line("cp", f"{self.sandbox}:/tmp", "x"))
        self.assertIn("is a directory", self.one_line("cp", self.directory, f"{self.sandbox}:/tmp"))
        self.assertIn("/tmp/none", self.one_line("cp", f"{self.sandbox}:/tmp/none", "x"))
        self.assertIn("read nowhere: ", self.one_line("cp", "nowhere", f"{self.sandbox}:/tmp/x", status=2))
        self.assertIn("write /nowhere/x: ", self.one_line("cp", f"{self.sandbox}:/etc/passwd", "/nowhere/x", status=2))
        with open("/dev/full", "wb") as full:
            process = self.start("cp", f"{self.sandbox}:/etc/passwd", "-", stdout=full, stderr=subprocess.PIPE)
            self.assertIn(b"agent-sandbox: write standard output: ", process.stderr.read())
            self.assertEqual(125, process.wait(time_scale.scaled(20)))
        self.one_line("cp", path, f"{self.sandbox}:/etc/passwd")
        self.one_line("cp", path, "no-such-sandbox:/tmp/x")
        self.assertEqual({"file.txt"}, set(os.listdir(self.directory)))

    def test_a_file_that_is_too_large_for_its_disk(self):
        path = self.directory / "large"
        with open(path, "wb") as file:
            file.truncate(80 << 20)
        self.one_line("cp", path, f"{self.sandbox}:/workspace/large")
        self.assertNotIn("large", self.good("ls", self.sandbox))

    def test_an_interrupted_copy_leaves_the_old_file(self):
        self.assertEqual(0, self.exec(self.sandbox, "sh", "-c", "echo old > x")[0])
        process = self.start("cp", "-", f"{self.sandbox}:/workspace/x", stdin=subprocess.PIPE)
        process.stdin.write(bytes(300_000))  # more than all pipes on the way hold
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(time_scale.scaled(20)))
        self.assertEqual((0, "old\n", ""), self.exec(self.sandbox, "cat", "x"))
        old = self.write("old", b"old")
        self.assertIn("/dev/zero", self.one_line("cp", f"{self.sandbox}:/dev/zero", old))
        self.assertEqual(b"old", old.read_bytes())
        self.assertEqual({"old"}, set(os.listdir(self.directory)))

    def test_ls_and_rm(self):
        self.assertEqual(0, self.exec(self.sandbox, "sh", "-c", "mkdir d; echo 12345 > d/f; ln -s d/f l")[0])
        lines = self.good("ls", self.sandbox).splitlines()
        self.assertRegex(lines[0], r"^TYPE +MODE +SIZE +MODIFIED \(UTC\) +NAME$")
        self.assertRegex(lines[1], r"^directory +0755 .* d$")
        self.assertRegex(lines[2], r"^link .* l -> d/f$")
        self.assertRegex(self.good("ls", self.sandbox, "/workspace/d"), r"(?m)^file +0644 +6 .* f$")
        names = [entry["name"] for entry in json.loads(self.good("ls", self.sandbox, "/", "--json"))["entries"]]
        self.assertLessEqual({"workspace", "tmp"}, set(names))
        self.one_line("rm", self.sandbox, "/workspace/d")
        self.good("rm", self.sandbox, "/workspace/l")
        self.good("rm", "-r", self.sandbox, "/workspace/d")
        self.assertEqual(1, self.good("ls", self.sandbox).count("\n"))
        self.one_line("ls", self.sandbox, "/none")
