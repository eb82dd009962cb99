# Tries: to end with something that is no number: an object whose text is huge and that fails while it is asked for it.
# Report: error with exit code 1; what is said of it is bounded.
# Expect: status=error exit=1 last=leaves


class Status:
    asked = 0

    def __str__(self):
        Status.asked += 1
        if Status.asked > 3:
            raise SystemExit(0)
        return "x" * 20_000_000

    __repr__ = __str__

    def __int__(self):
        return 0

    __index__ = __bool__ = __int__


print("leaves", flush=True)
raise SystemExit(Status())
