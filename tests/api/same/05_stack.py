# Observes: nothing of ours stands below the program's own frames.
import inspect
import sys
import threading
import traceback


def depth():
    frame, count = sys._getframe(), 0
    while frame:
        frame, count = frame.f_back, count + 1
    return count


print(depth(), [(each.f_code.co_name, each.f_code.co_filename) for each, _ in traceback.walk_stack(sys._getframe())])
print([(each.function, each.filename, each.lineno, each.code_context) for each in inspect.stack()])
traceback.print_stack()
frame = sys._getframe()
print(frame.f_back, frame.f_code.co_name, frame.f_code.co_firstlineno, frame.f_lineno, frame.f_trace,
      frame.f_builtins is vars(__builtins__), frame.f_globals is globals(), frame.f_locals is globals())
print(len(sys._current_frames()), threading.active_count(), [each.name for each in threading.enumerate()])
print(sys.gettrace(), sys.getprofile(), sys.exc_info(), hasattr(sys, "last_type"))
