"""Runs a program and then its tests in the program's names, and tells by its own exit status whether
the tests came to their end. Standard input holds a line "token length-of-program length-of-tests",
then both.

The judge is the first process of the jail, whose exit status is the verdict. The program runs in a
child, which is sent the tests, with a number that nobody could know before, once the program is over,
and sends the number back once the tests are. The last line of the judge on standard error is the
token and the part that failed; the child never sees the token.
"""
import builtins
import os
import select
import sys
# Built into the interpreter: the judge imports nothing once the program could have put a file of
# that name in its way.
import _signal
# By names of this file's own, and with builtins of its own: the program may put others in the places
# of those that everybody uses.
from os import close, dup2, read, write
from os import open as open_fd
from sys import __excepthook__ as plain_hook, exit as leave, setprofile, settrace

__builtins__ = dict(vars(builtins))

TESTS = "/tmp/tests.py"
NUMBER = 16  # bytes


def read_exactly(fd, count):
    parts = []
    while count > 0:
        part = read(fd, min(count, 1 << 16))
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_all(fd, content):
    while content:
        content = content[write(fd, content):]


def text_at(trace, tests):
    """The text of the expression in the tests that raised; before Python 3.11 its whole line."""
    code = trace.tb_frame.f_code
    line, column = trace.tb_lineno, 0
    if hasattr(code, "co_positions"):
        line, _, column, _ = list(code.co_positions())[trace.tb_lasti // 2]
    return tests.splitlines()[line - 1][column:].lstrip()


def is_end_of_tests(end, tests):
    """Whether a SystemExit is what unittest.main() and the like end with when all went well, and not
    the program's way out of a test: the program may hand out sys.exit itself, which has no frame."""
    if type(end) is not SystemExit:
        return False
    if end.code is not None and not (type(end.code) in (int, bool) and end.code == 0):
        return False
    trace = end.__traceback__.tb_next
    if trace is None:
        return False
    while True:
        name = trace.tb_frame.f_code.co_filename
        if name != TESTS and "/unittest/" not in name:
            return False
        if trace.tb_next is None:
            break
        trace = trace.tb_next
    if name != TESTS:
        return name.endswith("/unittest/main.py")
    return text_at(trace, tests).startswith((b"sys.exit(", b"exit(", b"quit(", b"raise "))


def show(hook, error):
    """Prints the exception as the interpreter would, without the frame of this file."""
    trace = error.__traceback__.tb_next
    try:
        hook(type(error), error.with_traceback(trace), trace)
    except BaseException:
        plain_hook(type(error), error, trace)


def keep_for_tracebacks(tests):
    try:
        fd = open_fd(TESTS, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        write_all(fd, tests)
        close(fd)
    except OSError:
        pass


def run_program(names):
    """Returns the status with which it failed, or None."""
    try:
        with open(__file__, "rb") as file:
            exec(compile(file.read(), __file__, "exec"), names)
    except SystemExit as end:
        if end.code not in (None, 0):
            return end.code
    except BaseException as error:
        show(sys.excepthook, error)
        return 1
    return None


def run_tests(tests, names):
    try:
        exec(compile(tests, TESTS, "exec"), names)
    except SystemExit as end:
        if not is_end_of_tests(end, tests):
            return end.code or "SystemExit: the program left in the middle of its tests"
    except BaseException as error:
        show(plain_hook, error)
        return 1
    return None


def perform(orders, reports):
    streams = [sys.stdout, sys.stderr]
    read(orders, 1)
    dup2(open_fd(os.devnull, os.O_RDONLY), 0)
    main = type(sys)("__main__")
    main.__file__ = __file__
    main.__builtins__ = builtins
    sys.modules["__main__"] = main

    failure = run_program(main.__dict__)
    if failure is not None:
        leave(failure)

    settrace(None)
    setprofile(None)
    for stream in streams + [sys.stdout, sys.stderr]:
        try:
            stream.flush()
        except Exception:  # the program took it apart or closed it
            pass
    names = main.__dict__
    names["__name__"] = "__main__"  # tests that ask for it are not skipped
    dup2(2, 1)  # what the program printed is its output, what it prints in its tests is not
    write(reports, b"r")
    number = read_exactly(orders, NUMBER)
    tests = read_exactly(orders, int(read_exactly(orders, 16), 16))
    keep_for_tracebacks(tests)
    failure = run_tests(tests, names)
    if failure is None:
        write(reports, number)
    leave(failure)


def hear(child, orders, reports, tests):
    """What the child said, and its wait status. A process that it left behind may hold the pipe open,
    so the end of the child ends it too."""
    number = os.urandom(NUMBER)
    heard = b""
    status = None
    while True:
        readable = select.select([reports], [], [], 0.02 if status is None else 0)[0]
        if readable:
            part = read(reports, 64)
            if not part:
                break
            if not heard:
                try:
                    write_all(orders, number + b"%016x" % len(tests) + tests)
                except BrokenPipeError:
                    pass
            heard += part
        elif status is not None:
            break
        if status is None:
            pid, ended = os.waitpid(child, os.WNOHANG)
            status = ended if pid else None
    if status is None:
        status = os.waitpid(child, 0)[1]
    return heard, heard == b"r" + number, status


def judge(child, orders, reports):
    given = read_exactly(0, 1 << 40)
    head, _, rest = given.partition(b"\n")
    token, length, _ = head.split()
    program, tests = rest[:int(length)], rest[int(length):]
    with open(__file__, "wb") as file:
        file.write(program)
    write(orders, b"g")
    heard, proven, status = hear(child, orders, reports, tests)
    code = os.waitstatus_to_exitcode(status)
    if proven and code == 0:
        os._exit(0)
    if not heard:
        part, words = b"program", b"The program failed before its tests.\n" if code else b""
    else:
        part, words = b"tests", b"The program ran to its end; its tests failed.\n"
    if code == 0:
        words = b"The process ended with status 0 before the tests had.\n"
    write_all(2, words + token + b" " + part + b"\n")
    if code < 0:
        if -code not in (_signal.SIGKILL, _signal.SIGSTOP):
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code or 1)


def start():
    for_child, orders = os.pipe()
    reports, for_judge = os.pipe()
    child = os.fork()
    if child == 0:
        close(orders)
        close(reports)
        perform(for_child, for_judge)
    close(for_child)
    close(for_judge)
    judge(child, orders, reports)


start()
