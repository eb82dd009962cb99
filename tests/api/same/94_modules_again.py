# Observes: modules that are taken out of sys.modules, imported again, reloaded and changed, whether they were there before or not.
import importlib
import sys


def again(name):
    old = importlib.import_module(name)
    old.own = "left behind"
    del sys.modules[name]
    new = importlib.import_module(name)
    print(name, new is old, sys.modules[name] is new, hasattr(new, "own"), new.__spec__ is old.__spec__, old.own, new.__name__)
    sys.modules[name] = old


for each in ("stat", "genericpath", "json", "json.decoder", "decimal", "string", "textwrap"):
    again(each)
for each in ("stat", "json", "json.encoder", "string", "abc", "codecs"):
    module = importlib.import_module(each)
    module.own = "stays"
    names, classes = vars(module), {name: value for name, value in vars(module).items() if isinstance(value, type)}
    print(each, importlib.reload(module) is module, vars(module) is names, module.own,
          sorted(name for name, value in classes.items() if value.__module__ == each and vars(module)[name] is value))

import json  # noqa: E402
import os.path  # noqa: E402
json.dumps = lambda value: "mine"
print(json.dumps(1), importlib.reload(json).dumps(1))
os.path.join, kept = (lambda *parts: "/".join(parts).upper()), os.path.join
print(os.path.join("a", "b"), kept("a", "b"), os.path.splitext("a.b"))
del os.path.join
try:
    os.path.join("a")
except AttributeError as error:
    print(error)
os.path.join = kept
names = sorted(name for name in sys.modules if name.startswith("json"))
for name in names:
    del sys.modules[name]
import json as other  # noqa: E402
print(names, other is json, other.JSONDecodeError is json.JSONDecodeError, other.loads("[1]"), json.loads("[2]"))
try:
    json.loads("{")
except other.JSONDecodeError:
    print("the other class")
except json.JSONDecodeError as error:
    print("its own class", error)
vars(other).clear()
print(vars(other), json.loads("[3]"))
sys.modules.pop("json")
sys.modules["json"] = None
try:
    import json
except ImportError as error:
    print(type(error).__name__, error)
