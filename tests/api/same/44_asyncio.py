# Observes: asyncio with subprocesses, threads, signals, timeouts, task groups, an exception nobody fetched.
import asyncio
import os
import signal
import sys


async def talk(name, delay):
    await asyncio.sleep(delay)
    return name


async def main():
    print(await asyncio.gather(talk("a", 0.02), talk("b", 0.01)), asyncio.current_task().get_name())
    child = await asyncio.create_subprocess_exec("/bin/cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print(await child.communicate(b"through cat"), child.returncode)
    shell = await asyncio.create_subprocess_shell("exit 3")
    print(await shell.wait())
    print(await asyncio.to_thread(lambda: sum(range(1000))))
    heard = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, heard.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(heard.wait(), 5)
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(10)
    except TimeoutError:
        print("timed out")
    server = await asyncio.start_unix_server(lambda reader, writer: (writer.write(b"hello"), writer.close()), "/tmp/socket")
    reader, writer = await asyncio.open_unix_connection("/tmp/socket")
    print(await reader.read())
    writer.close()
    server.close()
    tcp = await asyncio.start_server(lambda reader, writer: (writer.write(b"tcp"), writer.close()), "127.0.0.1", 8080)
    reader, writer = await asyncio.open_connection("127.0.0.1", 8080)
    print(await reader.read())
    writer.close()
    tcp.close()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(talk("c", 0))
            group.create_task(asyncio.sleep(0, 1 / 1)).add_done_callback(lambda task: print(task.result()))
            await asyncio.sleep(0.01)
            raise ValueError("in a group")
    except* ValueError as caught:
        print(repr(caught))
    asyncio.get_running_loop().create_task(asyncio.sleep(60), name="left over")
    return type(asyncio.get_running_loop()).__name__, type(asyncio.get_running_loop()._selector).__name__


print(asyncio.run(main(), debug=False), asyncio.get_event_loop_policy().__class__.__name__)
sys.stdout.flush()
asyncio.run(talk(1 / 0, 0)) if "fail" in sys.argv else print("done")
