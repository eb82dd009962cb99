#include "server/cli/artifact_keeper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "server/cli/write_all.h"

namespace server {
namespace {

constexpr std::size_t max_path_bytes = 4096;

struct Head {
  std::uint32_t place = 0;
  std::uint32_t path_bytes = 0;
  std::uint64_t content_bytes = 0;
};

// False at the end of what comes, and where no more can be read.
bool read_all(int fd, char* to, std::size_t count) {
  while (count > 0) {
    const ssize_t got = ::read(fd, to, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

template <class Value>
std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class Value>
bool read_value(int fd, Value& value) {
  return read_all(fd, reinterpret_cast<char*>(&value), sizeof value);
}

// Its owner is not root, and may have met a program that took it over.
bool serve_one(int socket, const ArtifactKeeper::Store& store) {
  Head head;
  if (!read_value(socket, head)) return false;
  const bool is_in_bounds =
      head.path_bytes <= max_path_bytes && head.content_bytes <= jail::CollectLimits().file_bytes;
  if (!is_in_bounds) return false;
  jail::CollectedFile file;
  file.path.resize(head.path_bytes);
  file.content.resize(head.content_bytes);
  if (!read_all(socket, file.path.data(), file.path.size())) return false;
  if (!read_all(socket, file.content.data(), file.content.size())) return false;
  return write_all(socket, bytes_of(store(head.place, file)));
}

[[noreturn]] void keep(int socket, const ArtifactKeeper::Store& store,
                       const std::function<void()>& at_end) {
  // Its owner's end is what ends it, after the last file.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // A reader of the program's output need not wait for this process.
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; ++fd) ::dup2(nothing, fd);
  while (serve_one(socket, store)) {
  }
  at_end();
  ::_exit(0);
}

}  // namespace

jail::Result<ArtifactKeeper> ArtifactKeeper::start(const Store& store,
                                                   const std::function<void()>& at_end) {
  const auto failed = [] {
    return jail::Error{
        jail::ErrorKind::exhausted, "start a process that writes artifacts", errno, {}};
  };
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return failed();
  jail::Fd ours(sockets[0]);
  jail::Fd theirs(sockets[1]);
  const pid_t child = ::fork();
  if (child < 0) return failed();
  if (child == 0) {
    ours.reset();
    keep(theirs.get(), store, at_end);
  }
  return ArtifactKeeper(std::move(ours), child);
}

ArtifactKeeper::ArtifactKeeper(ArtifactKeeper&& other) noexcept
    : socket_(std::move(other.socket_)), child_(std::exchange(other.child_, -1)) {}

ArtifactKeeper::~ArtifactKeeper() {
  if (child_ < 0) return;
  socket_.reset();
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int ArtifactKeeper::store(std::uint32_t place, const jail::CollectedFile& file) const {
  if (file.path.size() > max_path_bytes) return ENAMETOOLONG;
  const Head head{place, static_cast<std::uint32_t>(file.path.size()), file.content.size()};
  int error = 0;
  const bool is_answered =
      write_all(socket_.get(), bytes_of(head)) && write_all(socket_.get(), file.path) &&
      write_all(socket_.get(), file.content) && read_value(socket_.get(), error);
  return is_answered ? error : EPIPE;
}

}  // namespace server
