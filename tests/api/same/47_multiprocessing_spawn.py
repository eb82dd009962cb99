# Observes: multiprocessing by spawn: children that import this file from the start.
import multiprocessing
import os
import sys

print("imported as", __name__, os.path.basename(__file__), sys.argv, flush=True)


def work(number):
    return number * 2, __name__, multiprocessing.current_process().name.split("-")[0]


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        print(pool.map(work, [1, 2]))
    queue = context.Queue()
    worker = context.Process(target=queue.put, args=("from a child",))
    worker.start()
    print(queue.get())
    worker.join()
    print(worker.exitcode)
