#include "server/cli/sandbox/sandbox_files.h"

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
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/sandbox_text.h"
#include "server/cli/sandbox/table.h"

namespace server::client {
namespace {

namespace json = runtime::json;

constexpr mode_t usual_mode = 0666;
constexpr mode_t mode_bits = 0777;

std::string file_path(const std::string& id, std::string_view path) {
  return sandbox_path(id) + "/files" + percent_encoded(path, Slashes::stay);
}

std::string last_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

jail::Error failed(const std::string& doing, int error) {
  return {jail::ErrorKind::kernel, doing, error, {}};
}

jail::Error no_directories(const std::string& path) {
  return {jail::ErrorKind::refused, path + " is a directory, and cp copies files alone", 0,
          "`sandbox exec ID -- tar c DIRECTORY` makes a file of one"};
}

struct Entry {
  std::string type;
  mode_t mode = usual_mode;
};

jail::Result<Entry> stat_inside(ServerClient& client, const CopyOptions& options) {
  const auto answer = client.get(file_path(options.id, options.inside) + "?stat=true");
  if (!answer) return answer.error();
  const auto value = json::parse(*answer, "answer");
  if (!value) return value.error();
  Entry entry{.type = json::text_member(&*value, "type")};
  const std::string mode = json::text_member(&*value, "mode");
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(mode.data(), mode.data() + mode.size(), bits, 8);
  // The mode of a link is not that of the file.
  if (error == std::errc() && entry.type == "file") entry.mode = bits & mode_bits;
  return entry;
}

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
    if (!destination.fd_.valid()) return failed("write " + path, errno);
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
  if (!destination.fd_.valid()) return failed("write " + path, errno);
  destination.partial_ = partial;
  return destination;
}

jail::Result<void> Destination::finish() {
  if (partial_.empty()) return {};
  if (::rename(partial_.c_str(), path_.c_str()) != 0) return failed("write " + path_, errno);
  partial_.clear();
  return {};
}

jail::Result<void> copy_out(ServerClient& client, const CopyOptions& options) {
  const auto entry = stat_inside(client, options);
  if (!entry) return entry.error();
  if (entry->type == "directory") return no_directories(options.inside);
  std::string path = options.outside;
  struct stat outside {};
  if (path != "-" && ::stat(path.c_str(), &outside) == 0 && S_ISDIR(outside.st_mode)) {
    path += (path.ends_with('/') ? "" : "/") + last_name(options.inside);
  }
  auto destination = Destination::open(path, entry->mode);
  if (!destination) return std::move(destination).error();
  int write_error = 0;
  const auto call = client.begin({.path = file_path(options.id, options.inside), .accept = "*/*"},
                                 {.on_body = [&](std::string_view bytes) {
                                   if (client.signals().write_all(destination->fd(), bytes))
                                     return true;
                                   write_error = errno;
                                   return false;
                                 }});
  const auto answer = client.finish(*call);
  if (write_error != 0) return failed("write " + path, write_error);
  if (!answer) return answer.error();
  return destination->finish();
}

// What is to be sent, and what of it could not be read.
struct Source {
  jail::Fd file;
  int fd = STDIN_FILENO;
  std::optional<std::uint64_t> bytes;
  std::optional<mode_t> mode;
  int error = 0;
};

jail::Result<Source> open_source(const std::string& path) {
  Source source;
  if (path != "-") {
    // A FIFO that nobody writes into is waited for later, where signals are.
    source.file.reset(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!source.file.valid()) return failed("read " + path, errno);
    source.fd = source.file.get();
  }
  struct stat entry {};
  if (::fstat(source.fd, &entry) != 0) return failed("read " + path, errno);
  if (S_ISDIR(entry.st_mode)) return no_directories(path);
  if (path != "-" && S_ISREG(entry.st_mode)) {
    source.bytes = static_cast<std::uint64_t>(entry.st_size);
    source.mode = entry.st_mode & mode_bits;
  }
  return source;
}

// As cp of this host does: into a directory under the file's own name.
jail::Result<std::string> place_inside(ServerClient& client, const CopyOptions& options) {
  const bool is_directory = options.inside.ends_with('/');
  if (!is_directory) {
    const auto entry = stat_inside(client, options);
    // What is not there is made, and what else is wrong is said by the request that follows.
    if (!entry && entry.error().kind != jail::ErrorKind::refused) return entry.error();
    if (!entry || entry->type != "directory") return options.inside;
  }
  const std::string name = last_name(options.outside);
  if (options.outside == "-" || name.empty()) {
    return jail::Error{jail::ErrorKind::refused,
                       options.inside + " is a directory; expected the name of a file",
                       0,
                       {}};
  }
  return options.inside + (is_directory ? "" : "/") + name;
}

jail::Result<void> copy_in(ServerClient& client, const CopyOptions& options) {
  auto source = open_source(options.outside);
  if (!source) return std::move(source).error();
  const auto path = place_inside(client, options);
  if (!path) return path.error();
  std::string request_path = file_path(options.id, *path);
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
  if (source->error != 0) return failed("read " + options.outside, source->error);
  if (!answer) return answer.error();
  return {};
}

}  // namespace

int copy(ServerClient& client, const CopyOptions& options) {
  const bool is_inward = options.direction == CopyOptions::Direction::into_sandbox;
  const auto copied = is_inward ? copy_in(client, options) : copy_out(client, options);
  if (copied) return 0;
  if (copied.error().sys_errno == EPIPE) return fail_to_write(client.signals(), EPIPE);
  return fail(copied.error(), client.signals(), exit_refused);
}

int list_files(ServerClient& client, const ListFilesOptions& options) {
  std::string path = options.path;
  if (path.empty()) {
    const auto answer = client.get(sandbox_path(options.id));
    if (!answer) return fail(answer.error(), client.signals(), exit_refused);
    const auto sandbox = json::parse(*answer, "answer");
    if (sandbox) path = json::text_member(&*sandbox, "working_directory");
  }
  const auto answer = client.get(file_path(options.id, path) + "?list=true");
  if (!answer) return fail(answer.error(), client.signals(), exit_refused);
  if (options.format == Format::json) return print(client, *answer + "\n");
  const auto value = json::parse(*answer, "answer");
  const json::Value* const entries = value ? json::member(*value, "entries") : nullptr;
  if (entries == nullptr || entries->as_array() == nullptr) return fail_unreadable();
  const int printed = print(client, files_text(*entries->as_array(), table_width(STDOUT_FILENO)));
  const json::Value* const truncated = json::member(*value, "truncated");
  if (truncated != nullptr && truncated->as_bool() != nullptr && *truncated->as_bool()) {
    server::fail(0, "there are more files than the server lists");
  }
  return printed;
}

int remove_file(ServerClient& client, const RemoveFileOptions& options) {
  const auto answer = client.ask(
      {.method = "DELETE",
       .path = file_path(options.id, options.path) + (options.recursive ? "?recursive=true" : "")});
  if (answer) return 0;
  return fail(answer.error(), client.signals(), exit_refused);
}

}  // namespace server::client
