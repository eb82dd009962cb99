"""Programs that are a line or two, or whose bytes are the point: name -> (how it ends, request)."""

SUCCESS, ERROR = "success", "error 1"

# How the program leaves: what sys.exit takes, what raises, what goes past Python.
_EXITS = {
    "exit_none": (SUCCESS, "import sys; print(1); sys.exit()"),
    "exit_explicit_none": (SUCCESS, "import sys; sys.exit(None)"),
    "exit_zero": (SUCCESS, "import sys; sys.exit(0)"),
    "exit_false": (SUCCESS, "import sys; sys.exit(False)"),
    "exit_true": (ERROR, "import sys; sys.exit(True)"),
    "exit_three": ("error 3", "import sys; sys.exit(3)"),
    "exit_minus_one": ("error 255", "import sys; sys.exit(-1)"),
    "exit_256": (SUCCESS, "import sys; sys.exit(256)"),
    "exit_1000": ("error 232", "import sys; sys.exit(1000)"),
    "exit_big": ("error 255", "import sys; sys.exit(2 ** 100)"),
    "exit_text": (ERROR, "import sys; sys.exit('gave up: \\u00fc')"),
    "exit_empty_text": (ERROR, "import sys; sys.exit('')"),
    "exit_object": (ERROR, "import sys\nclass Reason:\n    def __str__(self): return 'as told'\nsys.exit(Reason())"),
    "exit_bad_object": (ERROR, "import sys\nclass Reason:\n    def __str__(self): raise ValueError\nsys.exit(Reason())"),
    "exit_tuple": (ERROR, "import sys; sys.exit((3, 4))"),
    "exit_tuple_of_one": ("error 1 or error 3", "import sys; sys.exit((3,))"),
    "exit_float": (ERROR, "import sys; sys.exit(3.5)"),
    "exit_bytes": (ERROR, "import sys; sys.exit(b'3')"),
    "exit_integer_subclass": ("error 4", "import sys\nclass Code(int): pass\nsys.exit(Code(4))"),
    "exit_exception": (ERROR, "import sys; sys.exit(ValueError('as a reason'))"),
    "exit_nested_finally": ("error 6", "import sys\ntry:\n    try: sys.exit(5)\n    finally: print('inner'); sys.exit(6)\n"
                                       "finally: print('outer')"),
    "exit_caught": (SUCCESS, "import sys\ntry: sys.exit(5)\nexcept SystemExit as error: print(repr(error), error.code, error.args)"),
    "exit_swallowed_by_return": (SUCCESS, "import sys\ndef f():\n    try: sys.exit(5)\n    finally: return 1\nprint(f())"),
    "exit_in_a_generator": ("error 8", "import sys\ndef g():\n    yield 1\n    sys.exit(8)\nfor x in g(): print(x)"),
    "exit_in_async": ("error 9", "import asyncio, sys\nasync def main(): sys.exit(9)\nasyncio.run(main())"),
    "exit_subclass": ("error 7", "class Leave(SystemExit): pass\nraise Leave(7)"),
    "exit_two_arguments": (ERROR, "raise SystemExit(1, 2)"),
    "exit_changed_code": ("error 12", "error = SystemExit(3)\nerror.code = 12\nraise error"),
    "exit_in_atexit": (SUCCESS, "import atexit, sys\natexit.register(sys.exit, 9)\nprint('end')"),
    "exit_in_excepthook": ("error 11", "import sys\nsys.excepthook = lambda *a: sys.exit(11)\n1 / 0"),
    "exit_of_site": ("error 13", "quit(13)"),
    "exit_without_stderr": (ERROR, "import sys\nsys.stderr = None\nsys.exit('unheard')"),
    "exit_to_other_stderr": (ERROR, "import io, sys\nsys.stderr = io.StringIO()\nsys.exit('kept')"),
    "exit_from_exec": ("error 14", "exec(compile('import sys; sys.exit(14)', 'made', 'exec'))"),
    "os_exit": ("error 5", "import atexit, os\natexit.register(print, 'never')\nprint('lost')\nos._exit(5)"),
    "os_exit_after_flush": (SUCCESS, "import os\nprint('kept', flush=True)\nos._exit(0)"),
    "os_exit_of_a_thread": ("error 6", "import os, threading, time\nthreading.Thread(target=os._exit, args=(6,)).start()\ntime.sleep(20)"),
    "c_exit": ("error 4", "import ctypes\nprint('lost in Python')\nlibc = ctypes.CDLL(None)\nlibc.printf(b'kept in C')\nlibc.exit(4)"),
    "abort": ("killed SIGABRT", "import os\nprint('lost')\nos.abort()"),
    "raise_interrupt": ("killed SIGINT", "print('here')\nraise KeyboardInterrupt"),
    "raise_interrupt_subclass": (ERROR, "class Mine(KeyboardInterrupt): pass\nraise Mine('with text')"),
    "raise_base": (ERROR, "raise BaseException('plain')"),
    "raise_generator_exit": (ERROR, "raise GeneratorExit"),
    "raise_without_text": (ERROR, "raise ValueError"),
    "raise_text_of_lines": (ERROR, "raise ValueError('one\\ntwo')"),
    "raise_with_bad_text": (ERROR, "class Bad(Exception):\n    def __str__(self): raise TypeError\nraise Bad"),
    "raise_not_an_exception": (ERROR, "raise 'text'"),
    "raise_main_class": (ERROR, "class Mine(Exception): pass\nraise Mine(1, 2)"),
    "kill_own": ("killed SIGKILL", "import os\nprint('flushed', flush=True)\nprint('lost')\nos.kill(os.getpid(), 9)"),
    "shutdown_kept_elsewhere": (SUCCESS, "import builtins, sys\nclass Loud:\n    def __del__(self): print('del', self.name)\n"
                                         "for place in (sys, builtins):\n    place.kept = Loud()\n    place.kept.name = place.__name__\n"
                                         "mine = Loud()\nmine.name = 'mine'"),
    "shutdown_of_changed_builtins": (SUCCESS, "import builtins\nnames = vars(builtins)\nclass Loud:\n    def __init__(self, name): self.name = name\n"
                                              "    def __call__(self, *rest): return 'mine'\n"
                                              "    def __del__(self): print('del', self.name, len('text'), sum([1, 2]), 'open' in names)\n"
                                              "builtins.len, builtins.sorted = Loud('len'), sorted\ndel builtins.sum\nall_of = names.pop('all')\n"
                                              "names['all'], names[7] = all_of, Loud('seven')\nloud = Loud('main')\nprint(len('text'))"),
    "shutdown_of_changed_atexit": (SUCCESS, "import atexit\natexit.register(print, 'called')\natexit._run_exitfuncs = lambda: print('never')\n"
                                            "atexit._ncallbacks = lambda: 0"),
    "shutdown_after_a_thread": (SUCCESS, "import threading\nclass Loud:\n    def __del__(self): print('del', threading.active_count())\n"
                                         "thread = threading.Thread(target=print, args=('in a thread',))\nthread.start()\nthread.join()\nloud = Loud()"),
    "shutdown_of_a_removed_main": (SUCCESS, "import os, sys\nkept = open('/tmp/kept', 'w')\nif os.fork() == 0:\n    kept.write('kept')\n"
                                            "    del sys.modules['__main__']\nelse:\n    os.wait()\n    print(open('/tmp/kept').read())"),
    "shutdown_of_a_replaced_main": (SUCCESS, "import sys\nclass Loud:\n    def __del__(self): print('del', sys.is_finalizing())\nloud = Loud()\n"
                                             "sys.modules['__main__'] = type(sys)('__main__')\nprint('the end')"),
    "shutdown_of_hooks": (SUCCESS, "import sys\nclass Loud:\n    def __init__(self, name): self.name = name\n    def __call__(self, *error): pass\n"
                                   "    def __del__(self): print('del', self.name, flush=True)\n"
                                   "for name in ('displayhook', 'excepthook', 'unraisablehook', 'breakpointhook'): setattr(sys, name, Loud(name))"),
    "shutdown_of_a_hook_that_writes": (SUCCESS, "import os, sys\nclass Journal:\n    def __init__(self): self.file = open('/tmp/journal', 'w')\n"
                                                "    def note(self, *error): self.file.write(repr(error[1]))\nif os.fork() == 0:\n"
                                                "    sys.excepthook = Journal().note\n    1 / 0\nos.wait()\nprint(open('/tmp/journal').read())"),
    "shutdown_of_names_that_something_holds": (SUCCESS, "import codecs, io, os, signal, sys\nhold = [lambda hook: signal.signal(signal.SIGTERM, hook),\n"
                                                        "        lambda hook: setattr(sys, 'excepthook', hook), lambda hook: setattr(os, 'getlogin', hook),\n"
                                                        "        lambda hook: codecs.register_error('mine', hook), lambda hook: os.register_at_fork(before=hook)]\n"
                                                        "def hook(*rest): pass\n"
                                                        "for place in hold:\n    if os.fork() == 0:\n        text, data = open('/tmp/text', 'w'), open('/tmp/data', 'wb')\n"
                                                        "        print(text.write('kept'), data.write(b'kept'), flush=True)\n        place(hook)\n        sys.exit(0)\n"
                                                        "    os.wait()\n    print(open('/tmp/text').read(), open('/tmp/data').read(), flush=True)"),
    "shutdown_without_open": (SUCCESS, "class Last:\n    def __del__(self):\n        print(len('kept'))\n        open('/tmp/kept', 'w')\nlast = Last()"),
    "shutdown_with_the_collector_off": (SUCCESS, "import gc\nclass Loud:\n    def __del__(self): print('del', self.name)\ngc.disable()\nfor name in 'ab':\n"
                                                 "    loud = Loud()\n    loud.name, loud.itself = name, loud"),
    "shutdown_with_the_collector_watched": (SUCCESS, "import gc\nclass Node: pass\nnode = Node()\nnode.itself = node\n"
                                                     "gc.callbacks.append(lambda phase, info: print(phase, info['generation'], flush=True))"),
    "shutdown_beside_a_thread": (SUCCESS, "import threading, time\nclass Loud:\n    def __del__(self): print('del', flush=True)\nloud = Loud()\n"
                                          "def wait():\n    while True: time.sleep(0.01)\nthreading.Thread(target=wait, daemon=True).start()"),
    "shutdown_of_signal_handlers": (SUCCESS, "import signal\nclass Loud:\n    def __init__(self, name): self.name = name\n    def __call__(self, *rest): pass\n"
                                             "    def __del__(self): print('del', self.name, flush=True)\nloud = Loud('main')\ndef handler(*rest): pass\n"
                                             "signal.signal(signal.SIGTERM, handler)\nsignal.signal(signal.SIGUSR1, Loud('handler'))\nprint('the end')"),
    "shutdown_of_what_a_handler_holds": (SUCCESS, "import io, signal, sys\nout = io.TextIOWrapper(sys.stdout.buffer)\ndef handler(*rest): pass\n"
                                                  "signal.signal(signal.SIGTERM, handler)\nout.write('kept')"),
    "signal_in_a_finaliser": ("killed SIGTERM", "import os, signal\nsignal.signal(signal.SIGTERM, lambda *rest: print('handled', flush=True))\nclass Last:\n"
                                                "    def __del__(self): os.kill(os.getpid(), signal.SIGTERM)\nlast = Last()"),
    "interrupt_in_a_finaliser": ("killed SIGINT", "import os\nclass Last:\n    def __del__(self):\n        os.kill(os.getpid(), 2)\n        print('never')\nlast = Last()"),
    "interrupt_that_is_blocked": ("error 130", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nraise KeyboardInterrupt"),
    "full_stdout_beside_a_thread": ("error 120", "import os, threading, time\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nprint('x')\n"
                                                 "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"),
    "stdout_that_says_it_is_closed": (SUCCESS, "import os, sys\nclass Stream:\n    texts = []\n    def write(self, text): self.texts.append(text)\n"
                                               "    def flush(self):\n        os.write(1, ''.join(self.texts).encode())\n        self.texts.clear()\n"
                                               "    def closed(self): return False\nsys.stdout = Stream()\nprint('kept')"),
    "stdout_that_cannot_say_if_it_is_closed": (SUCCESS, "import os, sys\nclass Unclear:\n    def __bool__(self): raise ValueError\nclass Stream:\n    closed, texts = Unclear(), []\n"
                                                        "    def write(self, text): self.texts.append(text)\n    def flush(self): os.write(1, ''.join(self.texts).encode())\n"
                                                        "sys.stdout = Stream()\nprint('kept')"),
    "output_of_c_before_its_exit_functions": (SUCCESS, "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.printf(b'kept in C')\nlibc.on_exit(libc._exit, None)"),
    "stop_and_go": (SUCCESS, "import os, signal, time\nif os.fork() == 0:\n    parent = os.getppid()\n"
                             "    while open(f'/proc/{parent}/stat').read().rpartition(')')[2].split()[0] != 'T': time.sleep(0.001)\n"
                             "    os.kill(parent, signal.SIGCONT)\n    os._exit(0)\n"
                             "os.kill(os.getpid(), signal.SIGSTOP)\nprint('goes on', os.wait()[1])"),
    "exec_of_another": ("error 3", "import os\nprint('first', flush=True)\nos.execv('/bin/sh', ['sh', '-c', 'echo second; exit 3'])"),
    "exit_with_thread_alive": ("error 3", "import sys, threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()\nsys.exit(3)"),
    "exit_with_daemon_alive": ("error 3", "import sys, threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nsys.exit(3)"),
    "exit_with_busy_daemon": (SUCCESS, "import threading\ndef spin():\n    while True: sum(range(100))\nthreading.Thread(target=spin, daemon=True).start()\nprint(1)"),
    "failure_with_thread_alive": (ERROR, "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()\n1 / 0"),
    "closed_stdout_object": (SUCCESS, "import sys\nprint('kept')\nsys.stdout.close()"),
    "closed_stdout_descriptor": ("error 120", "import os\nprint('lost')\nos.close(1)"),
    "closed_stderr_descriptor": ("error 120", "import os\nos.close(2)\n1 / 0"),
    "full_stdout": ("error 120", "import os, sys\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nprint('x')"),
    "stdout_to_a_file": (SUCCESS, "import os\nos.dup2(os.open('/tmp/out', os.O_RDWR | os.O_CREAT), 1)\nprint('x', flush=True)\n"
                                  "os.write(2, open('/tmp/out', 'rb').read())"),
    "closed_stdin": (SUCCESS, "import os, subprocess\nos.close(0)\nprint(subprocess.run(['/bin/cat'], stdin=subprocess.DEVNULL).returncode)"),
}

# What stands in the file.
_TEXTS = {
    "text_of_syntax_trees": (SUCCESS, "import ast\nfor base in (ast.expr, ast.stmt, ast.mod, ast.Constant, ast.expr_context):\n"
                                      "    print(base.__name__, [each.__name__ for each in base.__subclasses__()])"),
    "text_one_newline": (SUCCESS, "\n"),
    "text_one_blank": (SUCCESS, " "),
    "text_comment": (SUCCESS, "# nothing\n"),
    "text_docstring": (SUCCESS, '"""nothing"""'),
    "text_no_last_newline": (SUCCESS, "print(1)\nprint(2)"),
    "text_no_last_newline_in_block": (SUCCESS, "if 1:\n    print(1)"),
    "text_crlf": (SUCCESS, "print(1)\r\nif 1:\r\n    print('''a\r\nb''')\r\n"),
    "text_cr": (SUCCESS, "print(1)\rprint(2)\r"),
    "text_form_feed": (SUCCESS, "print(1)\n\fprint(2)\n"),
    "text_byte_order_mark": (SUCCESS, "\ufeffprint('ü', open(__file__, 'rb').read(3))"),
    "text_latin1_cookie": (SUCCESS, "# -*- coding: latin-1 -*-\nprint('ü', len('ü'))"),
    "text_cookie_on_line_two": (SUCCESS, "#!/usr/bin/python3\n# vim: set fileencoding=utf-8 :\nprint('ü')"),
    "text_unknown_cookie": (ERROR, "# coding: no-such-code\nprint(1)"),
    "text_cookie_against_mark": (ERROR, "\ufeff# coding: latin-1\nprint(1)"),
    "text_control_z": (ERROR, "print(1)\n\x1aprint(2)"),
    "text_null": (ERROR, "print(1)\nx = '\0'\nprint(2)"),
    "text_null_first": ("success or error 1", "\0print(1)"),
    "text_tabs": (SUCCESS, "if 1:\n\tprint(1)\n\tif 1:\n\t\tprint(2)"),
    "text_mixed_tabs": (ERROR, "if 1:\n\tprint(1)\n        print(2)"),
    "text_not_ascii_names": (SUCCESS, "größe = 3\nprint(größe, 'ﬁ'.isidentifier())\nﬁ = 1\nprint(sorted(n for n in globals() if 'fi' in n))"),
    "text_bad_character": (ERROR, "print(1)\nx = 3 € 4"),
    "text_no_break_space": (ERROR, "x =\u00a03"),
    "text_unexpected_indent": (ERROR, "print(1)\n    print(2)"),
    "text_missing_indent": (ERROR, "def f():\nreturn 1"),
    "text_unindent": (ERROR, "if 1:\n        print(1)\n    print(2)"),
    "text_syntax": (ERROR, "print('never')\nfor x in range(3) print(x)\n"),
    "text_missing_bracket": (ERROR, "print(1)\nx = (1,\n     2\nprint(3)\n"),
    "text_open_string": (ERROR, "x = 'never\nprint(1)"),
    "text_open_triple_string": (ERROR, "print(1)\nx = '''never\nprint(1)\n"),
    "text_bad_f_string": (ERROR, "x = f'{1 +}'"),
    "text_bad_escape": (SUCCESS, "print('\\d')"),
    "text_return_outside": (ERROR, "return 3"),
    "text_await_outside": (ERROR, "await x"),
    "text_late_future": (ERROR, "x = 1\nfrom __future__ import annotations"),
    "text_unknown_future": (ERROR, "from __future__ import braces"),
    "text_name_error": (ERROR, "value = 1\nprint(valu)"),
    "text_attribute_error": (ERROR, "import math\nmath.sqr(2)"),
    "text_missing_module": (ERROR, "import sys\nimport no_such_module.at_all"),
    "text_main_imports_itself": (SUCCESS, "import main\nprint(__name__)"),
    "text_error_in_import": (ERROR, "import antigravity_that_is_not_there as a"),
    "text_error_in_long_line": (ERROR, "x = [" + "1, " * 3000 + "1 / 0]"),
    "text_error_below_wide_characters": (ERROR, "日本 = '日本語'; x = 日本 + 1"),
    "text_long_line": (SUCCESS, "x = '" + "ü" * 300_000 + "'\nprint(len(x))"),
    "text_many_lines": (ERROR, "x = 1\n" * 40_000 + "1 / 0\n"),
    "text_one_mebibyte": (SUCCESS, "print(len(open(__file__).read()))\n#".ljust(1 << 20, "x")),
    "text_deep_nesting": (ERROR, "x = " + "[" * 250 + "]" * 250),
    "text_deep_blocks": (ERROR, "".join(" " * depth + "if 1:\n" for depth in range(120)) + " " * 120 + "print(1)"),
    "text_big_number": (ERROR, "x = " + "9" * 5000),
    "text_walrus": (SUCCESS, "print((n := 3) + n, [m for _ in 'ab' if (m := n)], m)"),
    "text_star_import": (SUCCESS, "from math import *\nprint(pi, '__name__' in globals(), __name__)"),
    "text_exec_changes_main": (SUCCESS, "exec('import __main__; __main__.x = 5')\nprint(x)\n__name__ = 'other'\nprint(__import__('sys').modules['__main__'].__name__)"),
    "text_prints_nothing": (SUCCESS, "x = 3"),
    "text_print_to_both": (SUCCESS, "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c', end='', flush=True)"),
    "text_surrogate_output": (ERROR, "print('\\ud800')"),
    "text_shebang": (SUCCESS, "#!/bin/sh\nprint('still Python')"),
    "text_deletes_itself": (ERROR, "import os\nos.unlink(__file__)\n1 / 0"),
    "text_rewrites_itself": (ERROR, "open(__file__, 'w').write('# other\\n' * 5)\ndef f():\n    raise ValueError\nf()"),
}

# Requests with more than a program.
_REQUESTS = {
    "request_arguments_with_options": (SUCCESS, {"code": "import sys; print(sys.argv, sys.flags)", "args": ["-c", "-m", "-", "--help"]}),
    "request_many_arguments": (SUCCESS, {"code": "import sys; print(len(sys.argv), sys.argv[-1])", "args": [str(number) for number in range(200)]}),
    "request_stdin_lines": (SUCCESS, {"code": "while True:\n    try: print(input())\n    except EOFError: break", "stdin": "a\nb\n\nc"}),
    "request_stdin_of_a_child": (SUCCESS, {"code": "import subprocess\nsubprocess.run(['/bin/cat'])", "stdin": "for the child"}),
    "request_stdin_half_read": (SUCCESS, {"code": "import os, subprocess\nprint(os.read(0, 4), flush=True)\nsubprocess.run(['/bin/cat'])", "stdin": "1234567"}),
    "request_stdin_unread": (SUCCESS, {"code": "print(1)", "stdin": "x" * 200_000}),
    "request_stdin_bytes": (SUCCESS, {"code": "import sys; print(len(sys.stdin.buffer.read()))", "stdin": "ü\0\r\n" * 5000}),
    "request_stdin_code": (SUCCESS, {"code": "import sys; exec(sys.stdin.read())", "stdin": "print('from standard input', __name__)"}),
    "request_base64": (SUCCESS, {"code": "import os; os.write(1, bytes(range(256))); os.write(2, b'\\xff')", "output_encoding": "base64"}),
    "request_artifacts": (SUCCESS, {"code": "import os\nos.mkdir('d')\nfor n in 'ab': open(f'd/{n}.txt', 'w').write(n)\nos.symlink('d/a.txt', 'link.txt')",
                                    "artifacts": ["**/*.txt"]}),
    "request_file_named_like_main": (SUCCESS, {"code": "import mainly; print(mainly.x)", "files": {"mainly.py": "x = __name__"}}),
    "request_import_at_the_end": (SUCCESS, {"code": "import mine\nclass Last:\n    def __del__(self):\n        import mine\nlast = Last()",
                                             "files": {"mine.py": "x = 1"}}),
    "request_own_site": (SUCCESS, {"code": "print(1)", "files": {"sitecustomize.py": "print('site')", "usercustomize.py": "print('user')"}}),
    "request_path_configuration": (SUCCESS, {"code": "import sys; print(sys.path)", "files": {"python311._pth": "x", "python313._pth": "x", "pyvenv.cfg": "home = /nowhere", "x.pth": "import os"}}),
    "request_locale": (SUCCESS, {"code": "import sys, locale; print(sys.stdout.encoding, sys.getfilesystemencoding(), locale.getlocale(), sys.flags.utf8_mode)",
                                 "env": {"LANG": "C", "LC_ALL": "POSIX"}}),
    "request_unbuffered": (SUCCESS, {"code": "import os\nprint('a', end='')\nos.write(1, b'b')\nos._exit(0)", "env": {"PYTHONUNBUFFERED": "1"}}),
    "request_inspect": (ERROR, {"code": "1 / 0", "env": {"PYTHONINSPECT": "1"}, "stdin": "print('after')\n"}),
    "request_colors": (ERROR, {"code": "def f(): return 1 / 0\nf()", "env": {"FORCE_COLOR": "1"}}),
    "request_python_colors": (ERROR, {"code": "def f(): return 1 / 0\nf()", "env": {"PYTHON_COLORS": "1"}}),
    "request_development_mode": (SUCCESS, {"code": "import sys; print(sys.flags.dev_mode, sys.warnoptions)", "env": {"PYTHONDEVMODE": "1"}}),
    "request_user_base": (SUCCESS, {"code": "import site, sys; print(site.getuserbase(), site.ENABLE_USER_SITE, sys.path)", "env": {"HOME": "/workspace"},
                                    "files": {f".local/lib/python3.{minor}/site-packages/mine.py": "x = 1" for minor in (11, 13)}}),
    "request_backend": (SUCCESS, {"code": "import importlib.util\nif importlib.util.find_spec('matplotlib'):\n    import matplotlib.pyplot as p\n    print(p.get_backend())",
                                  "env": {"MPLBACKEND": "svg", "OMP_NUM_THREADS": "1"}, "timeout_seconds": 30, "memory_limit_mb": 1024}),
    "request_time_zone": (SUCCESS, {"code": "import time; print(time.tzname, time.localtime(0).tm_hour)", "env": {"TZ": "Asia/Tokyo"}}),
    "request_variable": (SUCCESS, {"code": "import os; print(os.environ['WORD'])", "env": {"WORD": "ü=1"}}),
    "request_empty_path": (SUCCESS, {"code": "import shutil, sys; print(shutil.which('sh'), sys.executable)", "env": {"PATH": ""}}),
    "request_mebibyte_of_statements": (SUCCESS, {"code": "x = [1, 2]\n" * 95_000 + "print(x)", "memory_limit_mb": 1024, "timeout_seconds": 30}),
    "request_little_memory": (SUCCESS, {"code": "print(1)", "memory_limit_mb": 32}),
    "request_much_memory": (SUCCESS, {"code": "x = bytearray(b'1') * (300 << 20); print(len(x))", "memory_limit_mb": 600, "timeout_seconds": 20}),
}


def requests():
    """name, how it ends, the request."""
    for group in (_EXITS, _TEXTS):
        for name, (ends, code) in group.items():
            yield name, ends, {"code": code}
    for name, (ends, request) in _REQUESTS.items():
        yield name, ends, request
