# Observes: multiprocessing by a fork server.
import multiprocessing
import os


def work(queue, number):
    queue.put((number, __name__, os.getpid() != os.getppid()))


if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    queue = context.Queue()
    worker = context.Process(target=work, args=(queue, 5))
    worker.start()
    print(queue.get())
    worker.join()
    print(worker.exitcode)
