# Tries: to hold memory that no process has in sight: shared by processes and dropped again, or mapped from /dev/zero.
# Report: what is mapped counts in full: no more of it can be had than the limit, or the jail is out_of_memory.
# Expect: status=success,out_of_memory
# Memory: 128
# Timeout: 20
import mmap

PR_SET_DUMPABLE = 4
LIBC.prctl(PR_SET_DUMPABLE, 0)  # from here on nobody reads what this process has mapped
BLOCK = 16 << 20
held, kept = 0, []
for _ in range(64):
    try:
        block = mmap.mmap(-1, BLOCK)
    except OSError as error:
        notes.append(f"shared={errno.errorcode[error.errno]} at {held >> 20}")
        break
    place = (ctypes.c_char * BLOCK).from_buffer(block)
    ctypes.memset(place, 1, BLOCK)
    del place
    block.madvise(mmap.MADV_DONTNEED)
    kept.append(block)
    held += BLOCK
if held > 128 << 20:
    escapes.append(f"{held >> 20} MiB are held under a limit of 128")
try:
    mmap.mmap(os.open("/dev/zero", os.O_RDWR), BLOCK)
    escapes.append("/dev/zero was mapped")
except OSError as error:
    notes.append(f"/dev/zero={errno.errorcode[error.errno]}")
verdict()
