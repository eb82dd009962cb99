# Tries: to find a descriptor that the zygote, the pool or another jail left open, up to the highest number there can be.
# Report: success; there are 0, 1 and 2, all of them pipes.
# Control: this program says ESCAPED outside of a jail.
import fcntl
import stat
for number in (*range(3, 70000), 1 << 20, (1 << 30) - 1):
    try:
        fcntl.fcntl(number, fcntl.F_GETFD)
    except OSError:
        continue
    try:
        where = os.readlink(f"/proc/self/fd/{number}")
    except OSError as error:
        where = str(error)
    # An interpreter may keep its own program open.
    (notes if where == os.path.realpath(sys.argv[0]) else escapes).append(f"descriptor {number} is {where}")
for number in range(3):
    if not stat.S_ISFIFO(os.fstat(number).st_mode):
        escapes.append(f"descriptor {number} is no pipe")
for thread in os.listdir("/proc/self/task"):
    listed = set(os.listdir(f"/proc/self/task/{thread}/fd")) - {"0", "1", "2"}
    if len(listed) > 1:  # one is the listing itself
        escapes.append(f"thread {thread} has {sorted(listed)}")
verdict()
