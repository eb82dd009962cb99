# Observes: what is mapped that comes from files, and that nothing is shared and writable.
# Template: python
import re
names = set()
for line in open("/proc/self/maps"):
    fields = line.split(maxsplit=5)
    if fields[1].endswith("s") and "w" in fields[1]:
        print("shared and writable:", line)
    if len(fields) > 5:
        names.add(fields[5].strip())
print(sorted(name for name in names if name.startswith(("/usr", "["))))
print([re.sub(r"^\w+", "", name) for name in sorted(names) if not name.startswith(("/usr", "[", "/memfd", "/dev/zero", "/SYSV"))])
