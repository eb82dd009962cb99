# Observes: user, group, names, priorities, scheduler, processors.
import getpass
import grp
import os
import pwd
import socket
print(os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getresuid(), os.getresgid(), os.getgroups())
print(pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid()), getpass.getuser(), len(pwd.getpwall()), len(grp.getgrall()))
print(os.getpriority(os.PRIO_PROCESS, 0), os.nice(0), os.sched_getscheduler(0), os.sched_getparam(0), os.sched_getaffinity(0), os.cpu_count())
try:
    print(os.getlogin())
except OSError as error:
    print(error)
print(socket.gethostname(), os.uname()[:2], os.uname().machine)
try:
    print(socket.gethostbyname("localhost"))
except OSError as error:
    print(error)
print(os.sysconf("SC_OPEN_MAX"), os.sysconf("SC_CHILD_MAX"), os.sysconf("SC_PAGE_SIZE"), os.confstr("CS_PATH"), os.ctermid())
