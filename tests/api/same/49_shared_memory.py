# Observes: shared memory by name, between processes and after its end.
import multiprocessing
import os
from multiprocessing import shared_memory


def write(name):
    there = shared_memory.SharedMemory(name)
    there.buf[:5] = b"hello"
    there.close()


if __name__ == "__main__":
    block = shared_memory.SharedMemory("block", create=True, size=4096)
    worker = multiprocessing.Process(target=write, args=("block",))
    worker.start()
    worker.join()
    print(bytes(block.buf[:5]), block.size, os.listdir("/dev/shm"))
    block.close()
    block.unlink()
    numbers = shared_memory.ShareableList([1, "two", 3.0], name="numbers")
    print(list(numbers))
    numbers.shm.close()
    numbers.shm.unlink()
    print(os.listdir("/dev/shm"))
