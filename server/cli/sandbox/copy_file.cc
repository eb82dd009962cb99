#include "server/cli/sandbox/copy_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "jail/fd.h"
#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "server/api/query.h"

namespace server::client {
namespace {

namespace json = runtime::json;

constexpr mode_t usual_mode = 0666;
constexpr mode_t mode_bits = 0777;

// Where a file that comes out is written: beside its place until it is whole, so that whoever looks
// there finds the old file or the new one. What is no regular file is written into.
class Destination {
 public:
  static jail::Result<Destination> open(const std::string& path, mode_t mode);
  Destination(Destination&&) = default;
  Destination& operator=(Destination&&) = delete;
  ~Destination() {
    if (!partial_.empty()) ::unlink(partial_.c_str());
  }

  int fd() const { return fd_.valid() ? fd_.get() : STDOUT_FILENO; }
  jail::Result<void> finish();

 private:
  Destination() = default;

  jail::Fd fd_;  // none: standard output
  std::string path_;
  std::string partial_;  // empty: there is none, or none any more
};

jail::Result<Destination> Destination::open(const std::string& path, mode_t mode) {
  Destination destination;
  if (path == "-") return destination;
  struct stat entry {};
  const bool exists = ::stat(path.c_str(), &entry) == 0;
  if (exists && !S_ISREG(entry.st_mode)) {
    destination.fd_.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (!destination.fd_.valid()) return unusable("write " + path, errno);
    return destination;
  }
  std::error_code ignored;
  // A link to a file stays one.
  const auto real = exists ? std::filesystem::canonical(path, ignored).string() : path;
  destination.path_ = real.empty() ? path : real;
  const std::string partial = destination.path_.substr(0, destination.path_.rfind('/') + 1) +
                              ".agent-sandbox." + std::to_string(::getpid());
  destination.fd_.reset(
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!destination.fd_.valid()) return unusable("write " + path, errno);
  destination.partial_ = partial;
  return destination;
}

jail::Result<void> Destination::finish() {
  if (partial_.empty()) return {};
  if (::rename(partial_.c_str(), path_.c_str()) != 0) return failed("write " + path_, errno);
  partial_.clear();
  return {};
}

// What is to be sent, and what of it could not be read.
struct Source {
  jail::Fd file;
  int fd = STDIN_FILENO;
  std::optional<std::uint64_t> bytes;
  std::optional<mode_t> mode;
  int error = 0;
};

// What people call the source at `path`.
std::string name_here(const std::string& path) { return path == "-" ? "standard input" : path; }

jail::Result<Source> open_source(const std::string& path) {
  Source source;
  if (path != "-") {
    // A FIFO that nobody writes into is waited for later, where signals are.
    source.file.reset(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!source.file.valid()) return unusable("read " + path, errno);
    source.fd = source.file.get();
  }
  struct stat entry {};
  if (::fstat(source.fd, &entry) != 0) return unusable("read " + name_here(path), errno);
  if (S_ISDIR(entry.st_mode)) return unusable("read " + name_here(path), EISDIR);
  if (path != "-" && S_ISREG(entry.st_mode)) {
    source.bytes = static_cast<std::uint64_t>(entry.st_size);
    source.mode = entry.st_mode & mode_bits;
  }
  return source;
}

}  // namespace

std::string file_path(const std::string& id, std::string_view path) {
  return sandbox_path(id) + "/files" + percent_encoded(path, Slashes::stay);
}

jail::Error failed(const std::string& doing, int error) {
  return {jail::ErrorKind::kernel, doing, error, {}};
}

jail::Error unusable(const std::string& doing, int error) {
  return {jail::ErrorKind::invalid, doing, error, {}};
}

// What a server answers may be invalid, too, but the kernel has no part in that.
bool is_unusable(const jail::Error& error) {
  return error.kind == jail::ErrorKind::invalid && error.sys_errno != 0;
}

InsideEntry inside_entry(const json::Value& value) {
  InsideEntry entry{.type = json::text_member(&value, "type"), .mode = usual_mode};
  const std::string mode = json::text_member(&value, "mode");
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(mode.data(), mode.data() + mode.size(), bits, 8);
  // The mode of a link is not that of the file.
  if (error == std::errc() && entry.type == "file") entry.mode = bits & mode_bits;
  return entry;
}

jail::Result<InsideEntry> stat_inside(ServerClient& client, const std::string& id,
                                      std::string_view path) {
  const auto answer = client.get(file_path(id, path) + "?stat=true");
  if (!answer) return answer.error();
  const auto value = json::parse(*answer, "answer");
  if (!value) return value.error();
  return inside_entry(*value);
}

jail::Result<void> copy_file_out(ServerClient& client, const std::string& id,
                                 const std::string& inside, const std::string& outside,
                                 mode_t mode) {
  auto destination = Destination::open(outside, mode);
  if (!destination) return std::move(destination).error();
  int write_error = 0;
  const auto call = client.begin({.path = file_path(id, inside), .accept = "*/*"},
                                 {.on_body = [&](std::string_view bytes) {
                                   if (client.signals().write_all(destination->fd(), bytes))
                                     return true;
                                   write_error = errno;
                                   return false;
                                 }});
  const auto answer = client.finish(*call);
  if (write_error != 0) {
    return failed("write " + (outside == "-" ? "standard output" : outside), write_error);
  }
  if (!answer) return answer.error();
  return destination->finish();
}

jail::Result<void> copy_file_in(ServerClient& client, const std::string& id,
                                const std::string& outside, const std::string& inside) {
  auto source = open_source(outside);
  if (!source) return std::move(source).error();
  std::string request_path = file_path(id, inside);
  if (source->mode) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", *source->mode);
    request_path += std::string("?mode=") + mode;
  }
  const auto next_piece = [&](std::span<char> room) -> std::optional<std::size_t> {
    while (client.signals().wait_for_input(source->fd)) {
      const ssize_t count = ::read(source->fd, room.data(), room.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno == EINTR || errno == EAGAIN) continue;
      source->error = errno;
      break;
    }
    return std::nullopt;
  };
  const auto call = client.begin({.method = "PUT", .path = std::move(request_path)},
                                 {.next_piece = next_piece, .body_bytes = source->bytes});
  const auto answer = client.finish(*call);
  if (source->error != 0) return failed("read " + name_here(outside), source->error);
  if (!answer) return answer.error();
  return {};
}

}  // namespace server::client
