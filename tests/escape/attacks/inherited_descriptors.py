# Tries: to find descriptors of the host's processes among its own; the runner leaves an open one behind.
# Report: success; there are 0, 1 and 2 and none of them leads out.
# Control: this program says ESCAPED outside of a jail.
import stat
for name in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        found = os.fstat(int(name))
        where = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue  # the descriptor of the listing itself
    if int(name) > 2 and not where.startswith("/proc/"):
        # An interpreter may keep its own program open.
        (notes if where == os.path.realpath(sys.argv[0]) else escapes).append(f"descriptor {name} is {where}")
    elif stat.S_ISDIR(found.st_mode) and int(name) <= 2:
        escapes.append(f"descriptor {name} is the folder {where}")
verdict()
