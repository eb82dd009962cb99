"""The user that root becomes for tests that must work without root."""
import os

ID = 60801
AS_USER = {"user": ID, "group": ID, "extra_groups": []}  # for subprocess
# A user other than root stays the same.
NOT_ROOT = AS_USER if os.geteuid() == 0 else {}
