# Observes: PYTHON variables of the request, which an interpreter reads once, when it starts.
import os
import sys
import warnings
print(sys.flags, sys.path[:2], sys.warnoptions, sys.dont_write_bytecode)
print(sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering, sys.stdout.write_through)
print(hash("abc"), sorted({"a", "b", "c", "d", "e"}) == list({"a", "b", "c", "d", "e"}), list({"a", "b", "c", "d", "e"}))
warnings.warn("shown or not")
assert False, "left out when optimised"
