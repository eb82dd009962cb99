# Tries: to hold large pages of which all but a small part is given back: they stay whole, and only the part is resident.
# Report: success; no large page is had for the asking.
import mmap

LARGE, COLLAPSE = 2 << 20, 25
block = mmap.mmap(-1, 8 * LARGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for name, advice in (("MADV_HUGEPAGE", mmap.MADV_HUGEPAGE), ("MADV_COLLAPSE", COLLAPSE)):
    try:
        block.madvise(advice)
        escapes.append(f"{name} succeeded")
    except OSError as error:
        notes.append(f"{name}={errno.errorcode[error.errno]}")
verdict()
