# Tries: to see and to signal processes of the host; the runner passes pids of its own and of the host.
# Report: success; /proc shows this jail alone and no signal leaves it. The runner sees its victim alive.
visible = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
if len(visible) > 3:
    escapes.append(f"/proc lists {visible}")
notes.append(f"visible={visible}")
victims = [int(pid) for pid in sys.argv[1:]]
if not victims:
    escapes.append("the runner passed no victims")
for pid in victims:
    if pid in visible:
        continue  # a number of this jail's own by chance
    must_raise(f"signal {pid}", lambda: os.kill(pid, 9))
    must_raise(f"stat {pid}", lambda: os.stat(f"/proc/{pid}"))
    must_raise(f"group {pid}", lambda: os.killpg(pid, 9))
verdict()
