# Observes: files of the request that have the names of standard modules: which of them is found depends on what is
# imported already, and only on what a cold interpreter has imported.
# Template: python
import colorsys
import random
import statistics
import textwrap
print([getattr(module, "MINE", "not mine") for module in (colorsys, random, statistics, textwrap)])
import os
import sys
print(os.__file__, sys.path[0], "string" in sys.modules)
import string
print(hasattr(string, "MINE"))
