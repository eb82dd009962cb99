# Observes: first imports of forty modules of the standard library, where they come from and that they work.
import importlib
import sys
names = ("abc argparse array ast base64 bisect bz2 calendar cmath collections configparser contextlib copy csv datetime difflib dis email "
         "enum fractions functools glob gzip heapq html http.client inspect io itertools json logging lzma math operator pathlib pprint "
         "random re shlex shutil socket statistics string struct tarfile textwrap timeit tomllib traceback types typing unittest "
         "urllib.request xml.etree.ElementTree zipfile zlib this").split()
for name in names:
    module = importlib.import_module(name)
    print(name, getattr(module, "__file__", "built in"), module.__spec__.origin, type(module.__loader__), module.__package__)
print("this" in sys.modules, len(names))
import logging
logging.warning("by the root logger %d", 3)
logging.getLogger("x").error("by another")
