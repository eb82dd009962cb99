# Tries: to find a process or a thread of its jail that is less confined than itself: all that it can see, and those that
# it makes in every way.
# Report: success; each has the filter, no_new_privs, no capability and the jail's user.
# Control: this program says ESCAPED outside of a jail.
import subprocess
import threading


def check(path, label):
    status = dict(line.rstrip("\n").split(":\t", 1) for line in open(path) if ":\t" in line)
    wrong = [name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status[name], 16)]
    wrong += [name for name, wanted in (("NoNewPrivs", "1"), ("Seccomp", "2"), ("TracerPid", "0")) if status[name].strip() != wanted]
    if set(status["Uid"].split() + status["Gid"].split()) != {"1000"} or status["Groups"].strip():
        wrong.append("ids")
    if wrong:
        escapes.append(f"{label}: {[(name, status.get(name)) for name in wrong]}")


def check_all(label):
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                check(f"/proc/{pid}/task/{task}/status", f"{label}, process {pid} task {task}")
        except (FileNotFoundError, ProcessLookupError):
            notes.append(f"{pid} has ended")


check_all("at first")
threading.Thread(target=check_all, args=("a thread",)).start()
child = subprocess.Popen(["/bin/sleep", "5"])
check_all("with a child")
child.kill()
child = os.fork()
if child == 0:
    check_all("a fork")
    os.write(1, f"ESCAPED: {escapes}\n".encode() if escapes else b"")
    os._exit(0)
os.waitpid(child, 0)
own = {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")}
notes.append(f"namespaces {sorted(own)}")
for name in ("pid", "time"):
    if os.stat(f"/proc/self/ns/{name}").st_ino != os.stat(f"/proc/self/ns/{name}_for_children").st_ino:
        escapes.append(f"children go into another {name} namespace")
verdict()
