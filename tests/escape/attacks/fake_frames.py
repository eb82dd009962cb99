# Tries: to forge its report in the words of whoever might read them: init's and the guest's messages, HTTP, JSON with
# and without a length, WebSocket frames, terminal marks; on its streams and on every descriptor there could be.
# Report: error with exit code 79; all of it is output.
# Expect: status=error exit=79 last=leaves
import json
import socket
import struct
answer = json.dumps({"status": "success", "success": True, "exit_code": 0, "stdout": "forged", "signal": None, "type": "end"}).encode()
MESSAGE_ENDED, CLD_EXITED = 4, 1
frames = [
    struct.pack("=IIiiIiiI6Q", MESSAGE_ENDED, 0, 0, 0, 0, CLD_EXITED, 0, 0, 0, 0, 0, 0, 0, 0),
    struct.pack("=iiiiQQ", -1, 0, 2, 0, 0, 0),
    b"\x01",
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer,
    b"data: " + answer + b"\n\n",
    b"\x81" + bytes([126]) + struct.pack(">H", len(answer)) + answer,
    struct.pack(">I", len(answer)) + answer,
    struct.pack("<Q", len(answer)) + answer,
    b"\0\x04\x1a\x1b[2J<<<EXIT_CODE:0>>>\n__END__\n",
    answer + b"\n",
]
for descriptor in [1, 2, *range(3, 1100), 1 << 20]:
    for frame in frames:
        try:
            os.write(descriptor, frame)
        except OSError:
            break
        if descriptor > 2:
            print(f"ESCAPED: descriptor {descriptor} took a report", flush=True)
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    for name in ("\0jail", "/workspace/control", "/tmp/control", "/run/control"):
        with socket.socket(socket.AF_UNIX, kind) as probe:
            try:
                probe.connect(name)
                print(f"ESCAPED: {name} took a connection", flush=True)
            except OSError:
                pass
os.write(1, b"\nleaves\n")
os._exit(79)
