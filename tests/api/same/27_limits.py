# Observes: resource limits, umask, working directory.
import os
import resource
for name in sorted(name for name in dir(resource) if name.startswith("RLIMIT_")):
    print(name, resource.getrlimit(getattr(resource, name)))
mask = os.umask(0o777)
print(oct(mask), os.umask(mask) == 0o777, os.getcwd(), os.path.realpath("."))
for path in ("/tmp", "/workspace", "/"):
    found = os.statvfs(path)
    print(path, found.f_bsize, found.f_blocks, found.f_files, found.f_flag, found.f_namemax)
print(resource.getpagesize(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, os.times().children_user)
