# Observes: children that live longer than the program do not keep it and do not speak after it.
# Ends: error 3
import os
import subprocess
import sys
subprocess.Popen(["/bin/sh", "-c", "sleep 20; echo late"])
child = os.fork()
if child == 0:
    os.setsid()
    import time
    time.sleep(20)
    os._exit(0)
print("the end", flush=True)
sys.exit(3)
