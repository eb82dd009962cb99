# Observes: sqlite3 in memory and in a file, with threads and functions of its own.
import sqlite3
import threading
print(sqlite3.sqlite_version, sqlite3.threadsafety, sqlite3.apilevel)
for place in (":memory:", "/tmp/base.db", "base.db"):
    with sqlite3.connect(place, check_same_thread=False) as base:
        base.create_function("twice", 1, lambda value: value * 2)
        base.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        base.executemany("INSERT INTO t (b) VALUES (?)", [(f"row {number}",) for number in range(100)])
        worker = threading.Thread(target=base.execute, args=("INSERT INTO t (b) VALUES ('from a thread')",))
        worker.start()
        worker.join()
        print(base.execute("SELECT count(*), max(a), twice(min(a)) FROM t").fetchone(), base.execute("PRAGMA journal_mode = wal").fetchone())
try:
    base.execute("SELECT nothing")
except sqlite3.OperationalError as error:
    print(error)
