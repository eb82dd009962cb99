# Observes: multiprocessing by fork: Pool, Queue, Value, Array, Lock, Pipe, Manager, exit codes.
import multiprocessing
import os
import sys


def work(number, queue, value, lock, connection):
    with lock:
        value.value += number
    queue.put((multiprocessing.current_process().name, number))
    connection.send(number)
    sys.exit(number)


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    print(multiprocessing.get_start_method(), multiprocessing.current_process(), multiprocessing.cpu_count())
    queue, value, lock = context.Queue(), context.Value("i", 0), context.Lock()
    here, there = context.Pipe()
    workers = [context.Process(target=work, args=(number, queue, value, lock, there)) for number in range(3)]
    for worker in workers:
        worker.start()
    print(sorted(queue.get() for _ in workers), sorted(here.recv() for _ in workers))
    for worker in workers:
        worker.join()
    print(value.value, [worker.exitcode for worker in workers], context.active_children())
    with context.Pool(2) as pool:
        print(pool.map(abs, range(-3, 3)), pool.apply(max, (1, 2)), len(set(pool.map(os.getpid.__class__, []))))
    with context.Manager() as manager:
        shared = manager.dict(a=1)
        shared["b"] = 2
        print(dict(shared))
    array = context.Array("d", [1.5, 2.5])
    print(array[:], os.listdir("/dev/shm"))
    killed = context.Process(target=os.abort)
    killed.start()
    killed.join()
    print(killed.exitcode)
