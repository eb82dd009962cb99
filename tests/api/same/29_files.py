# Observes: the tree as the program finds it: names, modes, owners, the mounts that can be written to. There may be
# more or fewer of the others, and mounts below these; a directory of /etc may be a copy, and the root
# belongs to the guest or to nobody.
import os
import re
import stat
for folder in ("/", "/workspace", "/tmp", "/dev", "/dev/shm/", "/etc"):
    for name in sorted(os.listdir(folder)):
        found = os.lstat(os.path.join(folder, name))
        size = found.st_size if stat.S_ISREG(found.st_mode) and folder != "/etc" else "-"
        owners = {"/workspace": (found.st_uid, found.st_gid), "/tmp": (found.st_uid, found.st_gid), "/etc": ()}.get(folder, (found.st_uid in (1000, 65534),))
        print(folder, name, stat.filemode(found.st_mode), *owners, size, found.st_rdev if folder == "/dev" else "-")
topmost = {}
for line in open("/proc/self/mountinfo"):
    fields, rest = line.rstrip().split(" - ")
    where, options = fields.split()[4:6]
    topmost[where] = options, re.sub("([ug]id)=[0-9]+", r"\1=of the jail", rest)  # which is its own
print([(where, *each) for where, each in topmost.items() if where == "/proc" or "rw" in each[0].split(",")])
print(open("/workspace/main.py").readline(), os.stat("/workspace/main.py").st_nlink)
print(os.path.ismount("/workspace"), os.path.ismount("/tmp"), os.path.ismount("/proc"), os.stat("/workspace").st_dev == os.stat("/tmp").st_dev)
for name in ("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf"):
    print(name, open(name).read())
