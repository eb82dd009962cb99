# Tries: to use up inodes with empty files and deep folders.
# Report: success; the number of files has a bound.
for folder in ("/tmp", "/workspace", "/dev/shm"):
    if not os.access(folder, os.W_OK):
        continue
    count = 0
    try:
        while count < 60000:
            os.close(os.open(f"{folder}/{count}", os.O_CREAT | os.O_WRONLY))
            count += 1
        escapes.append(f"{folder} took {count} files")
    except OSError as error:
        notes.append(f"{folder}={errno.errorcode[error.errno]} after {count}")
verdict()
