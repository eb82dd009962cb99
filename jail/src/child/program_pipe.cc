#include "child/program_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "child/raw_syscall.h"

namespace jail::child {
namespace {

constexpr long max_at_once = 1 << 30;

}  // namespace

long ProgramPipe::make(int workspace, const char* name) {
  workspace_ = workspace;
  name_ = name;
  return raw::call(SYS_mknodat, workspace, raw::address(name), S_IFIFO | 0644, 0);
}

long ProgramPipe::meet_reader() {
  // Without a reader open() fails with ENXIO; with a reader that waits in open() both calls
  // succeed.
  const long opened = raw::call(SYS_openat, workspace_, raw::address(name_),
                                O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0);
  if (opened == -ENXIO) return 0;
  if (opened < 0) return opened;
  pipe_ = static_cast<int>(opened);
  const long unlinked = raw::call(SYS_unlinkat, workspace_, raw::address(name_), 0);
  return unlinked < 0 ? unlinked : 1;
}

long ProgramPipe::begin_pouring() {
  const long opened = raw::call(SYS_openat, workspace_, raw::address(name_),
                                O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0);
  if (opened == -ENOENT) {
    close();
    return 0;
  }
  if (opened < 0) return opened;
  file_ = static_cast<int>(opened);
  pour();
  return 0;
}

void ProgramPipe::pour() {
  for (;;) {
    const long sent = raw::call(SYS_sendfile, pipe_, file_, 0, max_at_once);
    if (sent == -EINTR || sent > 0) continue;
    if (sent != -EAGAIN) close();  // the program's end, or the interpreter is gone
    return;
  }
}

void ProgramPipe::close() {
  raw::call(SYS_close, pipe_);
  if (file_ >= 0) raw::call(SYS_close, file_);
  pipe_ = -1;
  file_ = -1;
}

}  // namespace jail::child
