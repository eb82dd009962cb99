#include "parent/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

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

// Returns false and leaves errno where not all could be written.
bool write_all(const Fd& file, std::span<const std::string_view> parts) {
  std::vector<iovec> vectors;
  vectors.reserve(parts.size());
  for (const std::string_view part : parts) {
    if (!part.empty()) vectors.push_back({const_cast<char*>(part.data()), part.size()});
  }
  std::span<iovec> left = vectors;
  while (!left.empty()) {
    const auto count = static_cast<int>(std::min<std::size_t>(left.size(), IOV_MAX));
    const ssize_t written = ::writev(file.get(), left.data(), count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    auto bytes = static_cast<std::size_t>(written);
    for (; !left.empty() && bytes >= left.front().iov_len; left = left.subspan(1)) {
      bytes -= left.front().iov_len;
    }
    if (bytes == 0) continue;
    left.front().iov_base = static_cast<char*>(left.front().iov_base) + bytes;
    left.front().iov_len -= bytes;
  }
  return true;
}

}  // namespace

Result<Fd> sealed_file(const char* name, std::string_view content, SealedUse use) {
  return sealed_file(name, std::span(&content, 1), use);
}

Result<Fd> sealed_file(const char* name, std::span<const std::string_view> parts, SealedUse use) {
  Fd file(create(name, use));
  if (!file.valid() || !write_all(file, parts)) return failed(name);
  constexpr int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(file.get(), F_ADD_SEALS, seals) != 0) return failed(name);
  return file;
}

}  // namespace jail
