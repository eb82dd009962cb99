# Tries: to forge its result: a report on every descriptor, on its own output, and a false exit status.
# Report: error with exit code 7, whatever was printed.
# Expect: status=error exit=7
import json
forged = json.dumps({"status": "success", "success": True, "exit_code": 0, "stdout": "forged", "signal": None}).encode()
for descriptor in range(3, 1024):
    try:
        os.write(descriptor, forged)
        print(f"ESCAPED: descriptor {descriptor} took a report", flush=True)
    except OSError:
        pass
os.write(1, forged + b"\n")
os.write(2, forged + b"\n")
os.write(1, b"CONTAINED: printed only\n")
os._exit(7)
