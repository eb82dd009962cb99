# Tries: to raise its own resource limits and its priority.
# Report: success; hard limits stay.
import resource
for name in ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"):
    number = getattr(resource, name)
    soft, hard = resource.getrlimit(number)
    if hard == resource.RLIM_INFINITY:
        notes.append(f"{name} has no bound")
        continue
    for wanted in (hard + 1, resource.RLIM_INFINITY):
        try:
            resource.setrlimit(number, (soft, wanted))
            escapes.append(f"{name} was raised from {hard} to {wanted}")
        except (OSError, ValueError) as error:
            notes.append(f"{name}={type(error).__name__}")
for name in ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_MSGQUEUE", "RLIMIT_MEMLOCK"):
    if resource.getrlimit(getattr(resource, name))[1] == resource.RLIM_INFINITY:
        escapes.append(f"{name} has no bound")
must_raise("nice -20", lambda: os.setpriority(os.PRIO_PROCESS, 0, -20))
must_raise("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)))
verdict()
