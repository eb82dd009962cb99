# Observes: children: their output, environment, descriptors, directory, group, fate.
import os
import signal
import subprocess
import sys


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, check=False, **options)
    print(done.returncode, done.stdout, done.stderr)


run("/bin/sh", "-c", "echo out; echo err >&2; exit 3")
run("/bin/sh", "-c", "cd /proc/self/fd; echo *; umask; pwd; ulimit -a")
run(sys.executable, "-c", "import sys, os; print(sys.argv, sys.flags, os.getcwd(), sorted(os.environ), __name__, os.getpgrp() == os.getpid())")
run(sys.executable, "-m", "json.tool", input=b'{"a": [1, 2]}')
run(sys.executable, "-", "x", input=b"import sys; print(sys.argv, sys.path[0] == '')")
run(sys.executable, "-I", "-c", "import sys; print(sys.flags, sys.path)")
run(sys.executable, "-c", "1/0")
run("/bin/cat", "/proc/self/cmdline", "/proc/self/comm", "/proc/self/cgroup")
run("grep", "-E", "^(Uid|Gid|Cap|NoNew|Sec|Sig[BC]|Name|Umask|PPid)", "/proc/self/status")
run("/bin/sh", "-c", "kill -9 $$")
run("/bin/true", start_new_session=True, cwd="/tmp", env={})
run("/bin/sh", "-c", "echo $PPID; exec cat /proc/self/comm", preexec_fn=lambda: os.nice(3))
print(subprocess.getstatusoutput("echo shell; false"), os.system("exit 4"), os.popen("echo popen").read())
try:
    run("/nowhere/program")
except FileNotFoundError as error:
    print(error)
try:
    subprocess.run(["/bin/sleep", "9"], timeout=0.05)
except subprocess.TimeoutExpired as error:
    print(error.cmd)
child = subprocess.Popen(["/bin/sleep", "9"])
child.send_signal(signal.SIGUSR1)
print(child.wait(), child)
print(os.posix_spawn("/bin/true", ["true"], {}) > 2, os.wait()[1], os.spawnl(os.P_WAIT, "/bin/sh", "sh", "-c", "exit 6"))
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, "-c", "import os, sys; print('took its place', sys.argv, os.getpid(), os.listdir('/proc/self/fd'))"])
