# Observes: locale, encodings, time zone, clocks that run.
import codecs
import datetime
import locale
import os
import sys
import time
print(locale.getlocale(), locale.getpreferredencoding(), locale.setlocale(locale.LC_ALL), locale.localeconv()["decimal_point"])
print([locale.setlocale(getattr(locale, name)) for name in ("LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MESSAGES")])
print(locale.setlocale(locale.LC_ALL, ""), sys.getfilesystemencoding(), codecs.lookup("utf-8").name, os.fsencode("ü\udcff"))
print(time.tzname, time.timezone, time.daylight, time.localtime(0), time.strftime("%A %B %x %X %Z", time.gmtime(0)))
print(datetime.datetime.fromtimestamp(0).astimezone().isoformat(), datetime.datetime.now().astimezone().tzinfo)
print([time.get_clock_info(name).implementation for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time")])
print(abs(time.time() - os.stat("/workspace").st_mtime) < 3600, time.process_time() < 3, time.thread_time() < 3, time.perf_counter() > 0)
started = time.monotonic()
time.sleep(0.03)
print(0.03 <= time.monotonic() - started)
print("größer", "日本", "\N{SNOWMAN}", ascii("ü"), "\ud800".encode("utf-8", "surrogatepass"))
try:
    print("\udc80")
except UnicodeEncodeError as error:
    print(error)
sys.stderr.write("\udc80 on the error stream\n")
