# Observes: modules and packages that came with the request, their files, reloading, running, and data beside them.
import importlib
import os
import runpy
import subprocess
import sys
import helper
import package.inner
from package import answer
print(helper.WORD, helper.__file__, helper.__cached__, helper.__spec__, package.__path__, package.inner.where(), answer)
open("helper.py", "a").write("\nWORD = 'changed and longer'\n")
importlib.invalidate_caches()
print(importlib.reload(helper).WORD, sys.modules["helper"] is helper)
print(runpy.run_path("helper.py", run_name="as a path")["__name__"], sorted(runpy.run_module("package.inner")))
sys.stdout.flush()
subprocess.run([sys.executable, "-m", "package"], check=True)
subprocess.run([sys.executable, "-m", "package.inner", "x"], check=True)
print(open("rows.csv", "rb").read(), sorted(os.listdir(".")), sorted(os.listdir("package")), os.access("rows.csv", os.W_OK))
try:
    import broken
except SyntaxError as error:
    print(error, error.filename, error.lineno)
try:
    import failing
except ZeroDivisionError:
    import traceback
    traceback.print_exc()
import main
print(main.__name__, main is sys.modules["__main__"]) if __name__ == "__main__" else print("imported again as", __name__)
