# Tries: to read what changes for the whole machine with every program (sysinfo): processes, load, free memory.
# Report: success; the call tells the same in every jail at any time.
# Control: this program says ESCAPED outside of a jail.
import struct
NUMBERS["sysinfo"] = {"x86_64": 99, "aarch64": 179}[platform.machine()]
told = ctypes.create_string_buffer(112)
result, error = call("sysinfo", told)
uptime, *loads = struct.unpack_from("l3L", told)
total, free, shared, buffers, swap, free_swap, processes = struct.unpack_from("6LH", told, 32)
if error or uptime == 0 or total == 0:
    escapes.append(f"the call does not work: {error}")
if any(loads) or shared or buffers or free != total or swap or free_swap or processes != 1:
    escapes.append(f"load {loads}, {free} of {total} free, {shared} shared, {buffers} in buffers, {processes} processes")
must_fail("an answer to nowhere", "sysinfo", 8)
# One whose memory nobody else may touch gets no answer, and the machine's figures least of all.
LIBC.prctl(4, 0)  # PR_SET_DUMPABLE
result, error = call("sysinfo", told)
notes.append(f"not dumpable={error}")
if error is None and struct.unpack_from("H", told, 80)[0] != 1:
    escapes.append("a process that is not dumpable reads the machine's figures")
verdict()
