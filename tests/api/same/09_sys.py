# Observes: what sys says about the interpreter.
import sys
for name in ("argv", "orig_argv", "flags", "path", "executable", "_base_executable", "prefix", "base_prefix", "exec_prefix",
             "base_exec_prefix", "platlibdir", "version", "version_info", "hexversion", "api_version", "implementation",
             "byteorder", "maxsize", "maxunicode", "float_info", "int_info", "hash_info", "thread_info", "float_repr_style",
             "dont_write_bytecode", "pycache_prefix", "_xoptions", "warnoptions", "platform", "abiflags", "copyright",
             "builtin_module_names", "_framework", "_git", "tracebacklimit", "ps1", "ps2", "last_value"):
    print(name, getattr(sys, name, "is not there"))
for name in ("getdefaultencoding", "getfilesystemencoding", "getfilesystemencodeerrors", "getswitchinterval", "getdlopenflags",
             "getrecursionlimit", "get_int_max_str_digits", "is_finalizing", "getprofile", "gettrace", "get_asyncgen_hooks",
             "get_coroutine_origin_tracking_depth"):
    print(name, getattr(sys, name)())
print(sys.displayhook is sys.__displayhook__, sys.excepthook is sys.__excepthook__, sys.unraisablehook is sys.__unraisablehook__,
      sys.breakpointhook is sys.__breakpointhook__, sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__)
print(len(sys.stdlib_module_names))
print(sorted(dir(sys)))
