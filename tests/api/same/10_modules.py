# Observes: the modules that are loaded before the program imports any, and where its imports are looked for.
# Template: python
import sys
print(sorted(sys.modules))
print(sorted(sys.path_importer_cache))
print(sorted((name, getattr(module, "__file__", None), repr(module)) for name, module in sys.modules.items()))
print(sorted(vars(sys.modules["builtins"])))
import _imp
print(_imp.lock_held(), sorted(name for name in sys.builtin_module_names if name in sys.modules))
print(sys.modules["site"].ENABLE_USER_SITE, sys.modules["site"].USER_SITE, sys.modules["site"].PREFIXES)
