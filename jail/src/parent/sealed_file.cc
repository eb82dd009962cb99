#include "parent/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parent/order.h"

namespace jail {
namespace {

// linux/memfd.h, since Linux 6.3. An older kernel refuses the flags and makes every memfd
// executable.
constexpr unsigned memfd_noexec_seal = 0x0008;
constexpr unsigned memfd_exec = 0x0010;

int create(const char* name, SealedUse use) {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd =
      ::memfd_create(name, flags | (use == SealedUse::execute ? memfd_exec : memfd_noexec_seal));
  return fd < 0 && errno == EINVAL ? ::memfd_create(name, flags) : fd;
}

Error failed(const char* name) { return system_error(std::string("keep ") + name + " in memory"); }

}  // namespace

Result<Fd> sealed_file(const char* name, std::string_view content, SealedUse use) {
  Fd file(create(name, use));
  if (!file.valid()) return failed(name);
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed(name);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  constexpr int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(file.get(), F_ADD_SEALS, seals) != 0) return failed(name);
  return file;
}

}  // namespace jail
