# Observes: warnings on standard error with file and line, what is shown in the main program.
import gc
import sys
import warnings
print(sys.warnoptions, warnings.defaultaction, list(warnings.onceregistry))
warnings.warn("plain")
warnings.warn("old", DeprecationWarning)
warnings.warn("pending", PendingDeprecationWarning)


def library():
    warnings.warn("of the caller", FutureWarning, stacklevel=2)


for _ in range(3):
    library()
compile("1 is 1", "made.py", "eval")
exec("assert (1, 'x')")
print("x" is "x")
open("/dev/null")
gc.collect()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("recorded")
    print(caught[0].message, caught[0].filename, caught[0].lineno)
import asyncio


async def never():
    pass


never()
print("\d", sorted(name for name in globals() if "warn" in name))
