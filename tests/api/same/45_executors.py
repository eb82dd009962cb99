# Observes: concurrent.futures: threads, processes, exceptions that come back from both.
import concurrent.futures
import os


def square(number):
    return number * number


def fail(number):
    raise ValueError(f"in a worker {number}")


def die(_):
    os._exit(3)


if __name__ == "__main__":
    for kind in (concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor):
        with kind(3) as pool:
            print(kind.__name__, list(pool.map(square, range(8))), pool.submit(fail, 3).exception())
            print(sorted(done.result() for done in concurrent.futures.as_completed([pool.submit(square, each) for each in (5, 6)])))
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        print(repr(pool.submit(die, 0).exception()))
