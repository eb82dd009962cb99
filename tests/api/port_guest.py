"""A server for a sandbox, hostile where it is asked to be. `python3 port_guest.py PORT [ADDRESS]`; the path says what
it does:

  /echo      what it was asked, as JSON, with the body
  /raw?HEX   these bytes, whatever they are, and the end; /raw-and-wait?HEX: the same, and the connection stays open
  /flood     a header that does not end; /pour: a body that does not end
  /stream    one chunk, and another one when somebody has asked for /go
  /early     an answer before the body has come; /swallow: how long the body was
  /others    how many other connections are open
  /quiet     nothing at all; /leave: the end at once
  /ws        a WebSocket that says back what it is told, and "bye" when it is told "end"
  /page      a page for a browser, whose script asks for /echo and /ws and tells what it has seen by /seen, which prints that
  /opened    how often the page was asked for
"""
import base64
import hashlib
import json
import socket
import sys
import threading

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
PAGE = b"""<!DOCTYPE html><title>page</title><script>
const tell = (word, text) => fetch("seen", {method: "POST", body: word + " " + text})
tell("address", location.href)
tell("cookie", document.cookie || "nothing")
fetch("echo").then(answer => answer.json()).then(told => tell("fetch", told.request))
const heard = [], socket = new WebSocket("ws" + location.href.slice(4).replace(/page.*/, "ws"))
socket.onopen = () => socket.send("echoed")
socket.onmessage = message => heard.push(message.data) === 2 && tell("websocket", heard.join(" "))
</script>"""
go = threading.Event()
opened = []
connections = set()


def answer(connection, body, headers=()):
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def read_head(reader):
    lines = []
    while (line := reader.readline()) not in (b"\r\n", b""):
        lines.append(line.decode("latin-1").rstrip("\r\n"))
    return lines


def read_body(reader, headers):
    """Returns the body, and how it was framed."""
    if "content-length" in headers:
        return reader.read(int(headers["content-length"])), "length"
    if headers.get("transfer-encoding") != "chunked":
        return b"", "none"
    body = b""
    while size := int(reader.readline(), 16):
        body += reader.read(size)
        reader.readline()
    reader.readline()
    return body, "chunked"


def speak_websocket(connection, reader, headers):
    accept = base64.b64encode(hashlib.sha1(headers["sec-websocket-key"].encode() + GUID).digest()).decode()
    head = (f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\nSet-Cookie: a=b\r\n\r\n").encode()
    connection.sendall(head + b"\x81\x05hello")
    while first := reader.read(2):
        length = first[1] & 127
        if length == 126:
            length = int.from_bytes(reader.read(2), "big")
        mask = reader.read(4)
        text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(reader.read(length)))
        if text == b"end":
            connection.sendall(b"\x81\x03bye")
            return
        size = bytes([len(text)]) if len(text) < 126 else b"\x7e" + len(text).to_bytes(2, "big")
        connection.sendall(b"\x81" + size + text)


def serve(connection):
    reader = connection.makefile("rb")
    lines = read_head(reader)
    if not lines:
        return
    target = lines[0].split(" ")[1]
    path, _, query = target.partition("?")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    if path in ("/raw", "/raw-and-wait"):
        connection.sendall(bytes.fromhex(query))
        if path == "/raw-and-wait":
            reader.read()
    elif path == "/flood":
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while True:
            connection.sendall(b"x" * 65536)
    elif path == "/pour":
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65536)
    elif path == "/stream":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                           b"6\r\nfirst\n\r\n")
        go.wait()
        connection.sendall(b"7\r\nsecond\n\r\n0\r\n\r\n")
    elif path == "/go":
        go.set()
        answer(connection, b"gone")
    elif path == "/early":
        answer(connection, b"enough")
        reader.read()
    elif path == "/swallow":
        left = int(headers["content-length"])
        while left > 0:
            left -= len(reader.read1(1 << 20))
        answer(connection, headers["content-length"].encode())
    elif path == "/others":
        answer(connection, str(len(connections) - 1).encode())
    elif path == "/quiet":
        reader.read()
    elif path == "/page":
        opened.append(target)
        answer(connection, PAGE, ["Content-Type: text/html"])
    elif path == "/opened":
        answer(connection, str(len(opened)).encode())
    elif path == "/seen":
        print("seen", read_body(reader, headers)[0].decode(), flush=True)
        answer(connection, b"")
    elif path == "/ws":
        speak_websocket(connection, reader, headers)
    elif path != "/leave":
        body, framing = read_body(reader, headers)
        told = {"request": lines[0], "lines": lines[1:], "body": body.decode("latin-1"), "framing": framing}
        answer(connection, json.dumps(told).encode(), ["Content-Type: application/json"])


def serve_and_close(connection):
    with connection:
        connections.add(connection)
        try:
            serve(connection)
        except OSError:
            pass
        connections.discard(connection)
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
listener = socket.create_server((address, int(sys.argv[1])), family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                                backlog=128)
print("listens", flush=True)
while True:
    threading.Thread(target=serve_and_close, args=(listener.accept()[0],), daemon=True).start()
