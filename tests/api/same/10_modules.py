# Observes: the modules that are loaded before the program imports any, where its imports are looked for, and what modules leave
# behind outside of themselves.
# Template: python
import sys
print(sorted(sys.modules))
print(sorted(sys.path_importer_cache))
print(sorted((name, getattr(module, "__file__", None), repr(module)) for name, module in sys.modules.items()))
print(sorted(vars(sys.modules["builtins"])))
print(sys.meta_path, sys.path_hooks)
print(getattr(sys.modules.get("warnings"), "filters", None))
import _imp
print(_imp.lock_held(), sorted(name for name in sys.builtin_module_names if name in sys.modules))
import atexit
import contextvars
print(atexit._ncallbacks(), list(contextvars.copy_context().items()))
print(sys.modules["site"].ENABLE_USER_SITE, sys.modules["site"].USER_SITE, sys.modules["site"].PREFIXES)
