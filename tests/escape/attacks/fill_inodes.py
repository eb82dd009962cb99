# Tries: to use up the inodes of each place it can write to, with 60,000 empty files.
# Report: success; each place has a bound on its files that is met before that.
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
