# Tries: to find the environment of whoever started the jail; the runner's holds the word ESCAPE_PROBE.
# Report: success; it is in no environment that can be read, nor are the usual names of secrets.
# Control: this program says ESCAPED outside of a jail.
for name, value in os.environ.items():
    if "ESCAPE_PROBE" in name + value or any(word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD")):
        escapes.append(f"{name} is set")
for name in os.listdir("/proc"):
    if name.isdigit():
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if b"ESCAPE_PROBE" in file.read():
                    escapes.append(f"process {name} has it")
        except OSError as error:
            notes.append(f"{name}={errno.errorcode[error.errno]}")
verdict()
