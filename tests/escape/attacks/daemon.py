# Tries: to stay behind as a daemon: double fork, a session of its own, no open descriptor but the cap.
# Report: success; the runner finds no process with the word that it passed as the first argument.
import time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-c", "import time; time.sleep(120)", sys.argv[1]])
    os._exit(0)
os.wait()
time.sleep(0.2)
notes.append("the daemon was started")
verdict()
