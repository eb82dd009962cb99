# Observes: an uncaught error in text that only the program's linecache has, and what is loaded after it.
# Ends: error 1
# Template: python
import atexit
import linecache
import sys
atexit.register(lambda: print([name in sys.modules for name in ("traceback", "linecache", "re", "json")], flush=True))
text = "def fail(value):\n    return {}[value]\n"
linecache.cache["made up"] = (len(text), None, text.splitlines(keepends=True), "made up")
names = {}
exec(compile(text, "made up", "exec"), names)
names["fail"]("missing")
