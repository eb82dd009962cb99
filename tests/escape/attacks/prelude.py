# Stands in front of every Python attack, since a guest is handed one file.
import ctypes
import errno
import os
import platform
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
# Numbers from 424 on are the same everywhere.
NUMBERS = {
    "x86_64": dict(ptrace=101, keyctl=250, add_key=248, request_key=249, unshare=272, setns=308, clone=56,
                   mount=165, umount2=166, pivot_root=155, chroot=161, prlimit64=302, sched_setaffinity=203,
                   process_vm_readv=310, process_vm_writev=311, kcmp=312, bpf=321, perf_event_open=298,
                   userfaultfd=323, name_to_handle_at=303, open_by_handle_at=304, syslog=103, mknodat=259,
                   init_module=175, finit_module=313, kexec_load=246, reboot=169, swapon=167, sethostname=170,
                   setuid=105, setgid=106, setgroups=116, capset=126, settimeofday=164, iopl=172, acct=163,
                   getpid=39, personality=135, seccomp=317, modify_ldt=154, splice=275, vmsplice=278,
                   io_setup=206, tkill=200, tgkill=234, rt_sigqueueinfo=129, rt_tgsigqueueinfo=297),
    "aarch64": dict(ptrace=117, keyctl=219, add_key=217, request_key=218, unshare=97, setns=268, clone=220,
                    mount=40, umount2=39, pivot_root=41, chroot=51, prlimit64=261, sched_setaffinity=122,
                    process_vm_readv=270, process_vm_writev=271, kcmp=272, bpf=280, perf_event_open=241,
                    userfaultfd=282, name_to_handle_at=264, open_by_handle_at=265, syslog=116, mknodat=33,
                    init_module=105, finit_module=273, kexec_load=104, reboot=142, swapon=224, sethostname=161,
                    setuid=146, setgid=144, setgroups=159, capset=91, settimeofday=170, acct=89, getpid=172,
                    personality=92, seccomp=277, splice=76, vmsplice=75, io_setup=0,
                    tkill=130, tgkill=131, rt_sigqueueinfo=138, rt_tgsigqueueinfo=240),
}[platform.machine()]
NUMBERS.update(pidfd_send_signal=424, io_uring_setup=425, io_uring_enter=426, io_uring_register=427,
               open_tree=428, move_mount=429, fsopen=430, fsconfig=431, fsmount=432, fspick=433,
               pidfd_open=434, clone3=435, pidfd_getfd=438, process_madvise=440, mount_setattr=442,
               quotactl_fd=443, memfd_secret=447, process_mrelease=448, cachestat=451, statmount=457, listmount=458,
               lsm_get_self_attr=459)
escapes = []
notes = []


def call(name, *arguments):
    """A raw system call: (result, name of the error or None)."""
    ctypes.set_errno(0)
    passed = [argument if isinstance(argument, (bytes, type(None))) or hasattr(argument, "_type_")
              or isinstance(argument, (ctypes.Array, ctypes.Structure)) or hasattr(argument, "_obj")
              else ctypes.c_long(argument) for argument in arguments]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name]), *passed)
    return result, (errno.errorcode.get(ctypes.get_errno(), "?") if result == -1 else None)


def fill(one):
    """Sends over a socket what nobody reads, until it would block."""
    one.setblocking(False)
    try:
        while True:
            one.send(b"x" * 65536)
    except BlockingIOError:
        pass


def must_fail(label, name, *arguments):
    if name not in NUMBERS:
        return
    result, error = call(name, *arguments)
    if error is None:
        escapes.append(f"{label} succeeded ({result})")
    else:
        notes.append(f"{label}={error}")


def must_raise(label, action):
    """`action` must end in an OSError; what it returns otherwise is part of the finding."""
    try:
        result = action()
    except OSError as error:
        notes.append(f"{label}={errno.errorcode.get(error.errno, error.errno)}")
    else:
        escapes.append(f"{label} succeeded ({str(result)[:80]})")


def write_to(path, text):
    descriptor = os.open(path, os.O_WRONLY)
    try:
        return os.write(descriptor, text)
    finally:
        os.close(descriptor)


def verdict():
    sys.stdout.flush()
    if escapes:
        print("ESCAPED: " + "; ".join(escapes))
    else:
        print("CONTAINED: " + " ".join(notes)[:400])
    sys.stdout.flush()


