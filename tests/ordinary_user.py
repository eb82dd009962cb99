"""Who root becomes for what has to work without root."""
import os

ID = 60801
AS_USER = {"user": ID, "group": ID, "extra_groups": []}  # for subprocess
# Somebody who is not root stays who he is.
NOT_ROOT = AS_USER if os.geteuid() == 0 else {}
