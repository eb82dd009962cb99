"""An example: ImageMagick's convert, and a program in its place that has been taken over, in the jail of
jail/examples/convert_untrusted."""
import os
import pathlib
import re
import struct
import subprocess
import zlib

import host_view
import built_examples
import ordinary_user
import time_scale

HERE = pathlib.Path(__file__).resolve().parent
CONVERT = pathlib.Path("/usr/bin/convert")
RED, BLUE = b"\xff\x10\x20", b"\x10\x20\xff"


def png(width, height, pixel):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    squeezed, row = zlib.compressobj(9), b"\0" + pixel * width
    rows = b"".join(squeezed.compress(row) for _ in range(height)) + squeezed.flush()
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def svg_that_shows(path):
    return (f'<?xml version="1.0"?>\n<svg width="16" height="16" xmlns="http://www.w3.org/2000/svg"'
            f' xmlns:xlink="http://www.w3.org/1999/xlink">\n<image xlink:href="{path}" x="0" y="0" width="16" height="16"/></svg>\n')


class Convert(built_examples.ExampleTest):
    example = "convert_untrusted"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.taken_over = cls.package.root / "taken_over"
        built_examples.checked("gcc", "-Wall", "-Wextra", "-Werror", HERE / "taken_over.c", "-o", cls.taken_over)

    def setUp(self):
        self.directory = self.package.scratch(self.id())
        self.output = self.directory / "output.png"

    def tearDown(self):
        self.assertEqual({}, host_view.left_behind())

    def as_user(self, *command):
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", check=False, timeout=time_scale.scaled(120),
                              cwd="/", env=self.package.run_environment(), **ordinary_user.NOT_ROOT)

    def place(self, name, content):
        path = self.directory / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o666)
        return path

    def convert(self, content, *converter):
        return self.as_user(self.built / "convert_untrusted", self.place("input", content), self.output, *converter)

    def need_convert(self):
        if not CONVERT.exists():
            self.skipTest("no /usr/bin/convert (Debian: imagemagick)")

    def pixel(self, image):
        """Returns the pixel in the middle, as ImageMagick outside of any jail reads it."""
        text = built_examples.checked(CONVERT, image, "-format", "%[pixel:p{8,8}]", "info:")
        return bytes(int(value) for value in re.findall(r"\d+", text)[:3])

    def assert_not_converted(self, done, why=""):
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertRegex(done.stderr, f"^not converted: {why}")
        self.assertEqual(["input"], sorted(path.name for path in self.directory.iterdir() if path.name not in ("secret.png", "victim")))

    def test_converts_what_is_an_image(self):
        self.need_convert()
        original = self.place("original.png", png(16, 16, RED))
        for kind in ("png", "gif", "jpeg", "tiff", "bmp"):
            with self.subTest(kind):
                source = self.directory / f"source.{kind}"
                built_examples.checked(CONVERT, original, source)
                done = self.convert(source.read_bytes())
                self.assertEqual((0, ""), (done.returncode, done.stdout), done.stderr)
                for found, wanted in zip(self.pixel(self.output), RED):
                    self.assertAlmostEqual(wanted, found, delta=8)
                self.output.unlink()

    def test_says_what_is_no_image(self):
        self.need_convert()
        self.assert_not_converted(self.convert("not an image\n"), "exited 1")

    def test_image_that_unfolds(self):
        self.need_convert()
        bomb = png(9000, 9000, b"\0\0\0")  # 240 KB of it; 650 MB as ImageMagick keeps pixels
        done = self.convert(bomb)
        self.assert_not_converted(done, "(exited|signaled|out of memory|timed out)")

    def test_image_that_shows_a_file_of_the_host(self):
        self.need_convert()
        secret = self.place("secret.png", png(16, 16, BLUE))
        picture = svg_that_shows(secret)
        outside = self.as_user(CONVERT, self.place("control.svg", picture), self.directory / "control.png")
        if outside.returncode != 0:
            self.skipTest(f"this ImageMagick shows no file to anybody: {outside.stderr}")
        self.assertEqual(BLUE, self.pixel(self.directory / "control.png"), "outside it shows the file")
        (self.directory / "control.png").unlink()
        (self.directory / "control.svg").unlink()
        self.assert_not_converted(self.convert(picture), "exited 1")

    def test_image_that_takes_a_file_away(self):
        self.need_convert()
        victim = self.place("victim", png(16, 16, BLUE))
        drawing = f"push graphic-context\nviewbox 0 0 16 16\nimage over 0,0 16,16 'ephemeral:{victim}'\npop graphic-context\n"
        # Some versions of ImageMagick refuse SVG by themselves; others start a program to read it, which is a violation.
        for text, why in ((drawing, "exited 1"), (svg_that_shows(f"ephemeral:{victim}"), "(exited 1|violation)")):
            self.assert_not_converted(self.convert(text), why)
            self.assertTrue(victim.exists())

    def test_control_program_that_does_as_it_should(self):
        done = self.convert("nothing", self.taken_over)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(b"nothing", self.output.read_bytes())

    def test_taken_over_is_killed_by_the_policy(self):
        for attack in ("socket", "unix_socket", "child"):
            with self.subTest(attack):
                self.assert_not_converted(self.convert(attack, self.taken_over), "violation")

    def test_taken_over_finds_nothing(self):
        secret = self.place("victim", "a secret")
        for attack in ("shell", "own_code", "signal", f"read {secret}", "read /etc/shadow", "read /usr/bin/python3", "read /proc/1/maps",
                       "link /etc/passwd"):
            with self.subTest(attack):
                self.assert_not_converted(self.convert(attack, self.taken_over), "exited 1")

    def test_taken_over_sees_users_of_the_jail_only(self):
        done = self.convert("read /etc/passwd", self.taken_over)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(3, len(self.output.read_bytes().splitlines()) - 2, "root, sandbox and nobody, behind a PNG's signature")

    def test_taken_over_floods(self):
        done = self.convert("flood", self.taken_over)
        self.assert_not_converted(done, "exited 1")
        self.assertLess(len(done.stderr), 5000)

    def test_taken_over_leaves_something_else(self):
        self.assert_not_converted(self.convert("script", self.taken_over), "it left something that is no PNG")

    def test_refuses_to_run_as_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root can try")
        done = subprocess.run([self.built / "convert_untrusted", self.place("input", "nothing"), self.output, self.taken_over],
                              capture_output=True, text=True, check=False, env=self.package.run_environment())
        self.assertEqual(2, done.returncode)
        self.assertIn("root", done.stderr)

    def test_says_what_it_cannot_find(self):
        missing = self.as_user(self.built / "convert_untrusted", self.directory / "missing", self.output)
        self.assertEqual(2, missing.returncode)
        self.assertIn("No such file", missing.stderr)
