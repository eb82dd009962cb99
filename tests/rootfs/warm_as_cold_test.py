"""On the built root a warm run is a cold run, too: the programs and the fresh values of tests/api/same_test.py."""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "api")]
import built_root  # noqa: E402
import same_test  # noqa: E402


class OnBuiltRoot:
    @classmethod
    def setUpClass(cls):
        root = built_root.place()
        if not (root / "manifest.json").exists():
            raise unittest.SkipTest(f"no root at {root}; ./dev rootfs builds it")
        cls.arguments = ("--rootfs", str(root))
        super().setUpClass()


class Same(OnBuiltRoot, same_test.Same):
    cold_answers = {}


class Fresh(OnBuiltRoot, same_test.Fresh):
    pass
