# Observes: the limits of a request that asks for its own.
import resource
for name in sorted(name for name in dir(resource) if name.startswith("RLIMIT_")):
    print(name, resource.getrlimit(getattr(resource, name)))
print(open("/proc/self/limits").read())
