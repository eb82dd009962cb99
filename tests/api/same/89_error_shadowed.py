# Observes: an uncaught error beside files of the program that have the names of modules with which errors are printed.
# Ends: error 1
# Template: python
import atexit
import sys
atexit.register(lambda: print(getattr(sys.modules.get("token"), "__file__", None), flush=True))
print({}["missing"])
