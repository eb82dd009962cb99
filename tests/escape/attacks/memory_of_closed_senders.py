# Tries: to keep memory in what was sent and is never read, while who sent it is closed and in no list any more.
# Report: out_of_memory; a socket that is in no list counts as full.
# Expect: status=out_of_memory last=sends
# Memory: 64
# Timeout: 20
import socket
import time

print("sends", flush=True)
for _ in range(4):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                sender, receiver = socket.socketpair()
                fill(sender)
                sender.close()
                kept.append(receiver)
        except OSError:
            time.sleep(30)
time.sleep(10)
print("ESCAPED: four processes keep what a thousand closed sockets sent under a limit of 64 MiB", flush=True)
