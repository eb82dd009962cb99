# Tries: to read what is meant for somebody else from its standard input: another program, the rest of a protocol.
# Report: success; the input has ended before it began.
import select
ready, _, _ = select.select([0], [], [], 2)
if not ready:
    escapes.append("somebody holds its standard input open")
elif text := os.read(0, 1 << 16):
    escapes.append(f"its standard input holds {text[:80]!r}")
must_raise("write to it", lambda: os.write(0, b"x"))
verdict()
