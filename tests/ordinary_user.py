"""The user that root becomes for tests that must work without root."""
import contextlib
import os
import pathlib
import shutil
import tempfile

ID = 60801
AS_USER = {"user": ID, "group": ID, "extra_groups": []}  # for subprocess
# A user other than root stays the same.
NOT_ROOT = AS_USER if os.geteuid() == 0 else {}


@contextlib.contextmanager
def within_reach(*paths):
    """A folder with copies of these files that every user may read and execute: a checkout may lie where root alone may go."""
    with tempfile.TemporaryDirectory(prefix="agent-sandbox-reach.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for path in paths:
            shutil.copy(path, folder)
            (folder / pathlib.Path(path).name).chmod(0o755)
        yield folder
