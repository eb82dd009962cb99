# Tries: to find what runs it in its own interpreter: frames above its first line, open files and sockets among all
# objects, threads, hooks, finalisers, modules that no program has.
# Report: success; there is the program alone.
import gc
import io
import socket
import threading
import traceback
frame, depth = sys._getframe(), 0
while frame.f_back:
    frame, depth = frame.f_back, depth + 1
if depth or frame.f_code.co_filename != sys.argv[0] or len(traceback.extract_stack()) != 1:
    escapes.append(f"{depth} frames above, the first one of {frame.f_code.co_filename}")
gc.unfreeze()
for found in gc.get_objects():
    if isinstance(found, socket.socket):
        escapes.append(f"a socket {found!r}")
    elif isinstance(found, io.IOBase) and not found.closed:
        try:
            number = found.fileno()
        except (OSError, ValueError):
            continue
        if number > 2:
            escapes.append(f"an open file {found!r}")
    elif isinstance(found, dict) and found is not globals():
        for name in ("GROQ_API_KEY", "API_KEYS", "job_id", "request_id"):
            if name in found:
                escapes.append(f"a dictionary with {name}")
if threading.enumerate() != [threading.main_thread()] or len(os.listdir("/proc/self/task")) != 1:
    escapes.append(f"threads {threading.enumerate()}")
for name in ("settrace", "setprofile"):
    if getattr(sys, name.replace("set", "get"))() is not None:
        escapes.append(f"a hook of {name}")
strange = [name for name in sys.modules if any(word in name.lower() for word in ("jail", "sandbox", "zygote", "preload"))]
if strange:
    escapes.append(f"modules {strange}")
notes.append(f"{len(gc.get_objects())} objects, {len(sys.modules)} modules")
verdict()
