# Observes: causes, contexts, suppressed ones, notes and groups in tracebacks, caught and uncaught.
# Ends: error 1
import sys
import traceback


def fail(kind, text):
    raise kind(text)


def chained(how):
    try:
        fail(KeyError, "first")
    except KeyError as error:
        if how == "cause":
            raise ValueError("second") from error
        if how == "none":
            raise ValueError("second") from None
        fail(ValueError, "second")


for how in ("cause", "context", "none"):
    try:
        chained(how)
    except ValueError:
        traceback.print_exc(file=sys.stdout)
error = RuntimeError("with notes")
error.add_note("a note\nof two lines")
try:
    raise ExceptionGroup("group", [error, ExceptionGroup("inner", [OSError(2, "no file"), ValueError("v")])])
except* OSError as group:
    print(repr(group), traceback.format_exception(group))
except* RuntimeError:
    traceback.print_exc()
except* ValueError as rest:
    raise TypeError("outer") from rest
