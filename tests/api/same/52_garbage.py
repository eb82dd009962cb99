# Observes: the collector's settings. Not looked at: its counts and what is frozen.
import gc
import sys
print(gc.get_threshold(), gc.isenabled(), gc.garbage, gc.callbacks, gc.get_debug(), sys.getswitchinterval())


class Node:
    pass


gc.collect()
for _ in range(10):
    node = Node()
    node.itself = node
del node
print(gc.collect(), gc.is_tracked([]), sys.getrefcount(Node) < 20)
seen = []
gc.callbacks.append(lambda phase, details: seen.append(phase))
gc.collect()
print(seen, any(each is seen for each in gc.get_objects()), gc.get_referrers(Node) != [])
before = gc.get_stats()[0]["collections"]
kept = [[] for _ in range(5000)]
print(gc.get_stats()[0]["collections"] > before, sys.intern("abc") is sys.intern("abc"))
