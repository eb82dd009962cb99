"""A calendar clock that a test sets for one server: the server's calls for the time of day go through a small library
(LD_PRELOAD) that adds an offset from a file. The monotonic clock is the kernel's, as it is where an operator or NTP
sets the clock of a host."""
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long none, *offset = &none;

__attribute__((constructor)) static void find(void) {
  const char *path = getenv("TEST_CLOCK_FILE");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *seen = fd < 0 ? MAP_FAILED : mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (seen != MAP_FAILED) offset = seen;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset;
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int failed = syscall(SYS_gettimeofday, now, zone);
  if (!failed && now) now->tv_sec += *offset;
  return failed;
}

time_t time(time_t *told) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (told) *told = now.tv_sec;
  return now.tv_sec;
}
"""


class SetClock:
    """`environment` is for the server. None can be made without a compiler: OSError."""

    def __init__(self):
        compiler = shutil.which("cc")
        if compiler is None:
            raise OSError("no compiler")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-clock."))
        self.directory.chmod(0o755)
        source, library, self._file = (self.directory / name for name in ("clock.c", "clock.so", "offset"))
        source.write_text(SOURCE, encoding="ascii")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
        self.offset = 0
        self._file.write_bytes(struct.pack("q", 0))
        self.environment = {"LD_PRELOAD": str(library), "TEST_CLOCK_FILE": str(self._file)}

    def set(self, offset):
        """From now on the server's calendar differs by this many seconds from the host's."""
        with open(self._file, "r+b") as file:
            file.write(struct.pack("q", offset))
        self.offset = offset

    def now(self):
        return time.time() + self.offset

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def is_used_by(self, pid):
        return "clock.so" in pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8") if os.access(f"/proc/{pid}/maps", os.R_OK) else None
