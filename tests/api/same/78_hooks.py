# Observes: hooks of the program: excepthook, audit, trace, profile, import, display.
# Ends: error 1
import sys
import threading
events = []
sys.addaudithook(lambda event, arguments: events.append(event) if event in ("open", "import", "exec") else None)
import colorsys
print(sorted(set(events)), colorsys.__name__)
calls = []


def traced():
    value = 1
    return value


sys.settrace(lambda frame, event, argument: calls.append((frame.f_code.co_name, event)))
traced()
sys.settrace(None)
sys.setprofile(lambda frame, event, argument: calls.append(event))
traced()
sys.setprofile(None)
threading.settrace(None)
print(calls)


class Finder:
    def find_spec(self, name, path, target=None):
        # The interpreter itself may import what it writes a traceback with.
        if name.startswith("not_"):
            print("looks for", name)


sys.meta_path.insert(0, Finder())
try:
    import not_there
except ModuleNotFoundError as error:
    print(error, error.name)


def hook(kind, error, trace):
    print("hook", kind.__name__, error, trace.tb_lineno, trace.tb_frame.f_code.co_name, trace.tb_next)
    sys.__excepthook__(kind, error, trace)


sys.excepthook = hook
raise ValueError("to the hook")
