# Tries: to fill the host's table of open files. It bounds itself at 4000.
# Report: success; there is a bound long before.
opened = []
try:
    while len(opened) < 4000:
        opened.append(os.dup(0))
    escapes.append(f"{len(opened)} descriptors at once")
except OSError as error:
    notes.append(f"dup={errno.errorcode[error.errno]} after {len(opened)}")
for descriptor in opened:
    os.close(descriptor)
verdict()
