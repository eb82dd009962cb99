#include "child/shown_variables.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {

long show_variables(int proc, long pid, const char* variables, std::uint64_t size) {
  ProcessStat stat;
  if (!read_stat(proc, Number(static_cast<std::uint64_t>(pid)).text, stat)) return -ESRCH;
  if (stat.variables_begin == 0) return 0;
  if (stat.variables_end - stat.variables_begin != size) return -EPROTO;
  const iovec from{const_cast<char*>(variables), size};
  const iovec to{reinterpret_cast<void*>(stat.variables_begin), size};
  const long written =
      raw::call(SYS_process_vm_writev, pid, raw::address(&from), 1, raw::address(&to), 1, 0);
  if (written < 0) return written == -EPERM ? 0 : written;
  return static_cast<std::uint64_t>(written) == size ? 0 : -EFAULT;
}

}  // namespace jail::child
