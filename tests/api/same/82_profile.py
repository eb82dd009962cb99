# Observes: tracemalloc, cProfile and timeit are there and off; a debug build's names are not.
import cProfile
import faulthandler
import pstats
import sys
import timeit
import tracemalloc
print(tracemalloc.is_tracing(), tracemalloc.get_traced_memory(), faulthandler.is_enabled(), hasattr(sys, "gettotalrefcount"))
tracemalloc.start()
kept = [str(number) for number in range(1000)]
line = tracemalloc.take_snapshot().statistics("lineno")[0].traceback[0]
print(line.filename, line.lineno, tracemalloc.get_object_traceback(kept))
profile = cProfile.Profile()
profile.enable()
sorted(range(10))
profile.disable()
print(sorted(name for _, _, name in pstats.Stats(profile).stats), timeit.timeit("1+1", number=10) > 0)
