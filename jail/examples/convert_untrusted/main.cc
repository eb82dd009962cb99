// convert_untrusted INPUT OUTPUT.png [CONVERTER]
//
// Turns an image that nobody vouches for into a PNG by ImageMagick's convert, or by any program
// that takes the same two arguments. convert reads two hundred formats and has had a hole in most
// of them: the image meets it in a jail that holds the image, convert and its libraries, and what
// comes out is taken after the jail is dead.
//
// Exit status: 0 converted; 1 the converter failed, reached a limit, broke the policy or left no
// PNG; 2 everything else: the image cannot be read or is larger than 32 MiB, no jail can be made,
// OUTPUT cannot be written. The reason is on standard error.
#include <fcntl.h>
#include <jail/collect.h>
#include <jail/launcher.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "confinement.h"

namespace {

using std::chrono::seconds;

constexpr std::size_t max_input = 32u << 20;
constexpr std::size_t max_complaints = 4096;
constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";

// Reports the failure and returns the exit status.
int here(const std::string& what) {
  std::fprintf(stderr, "convert_untrusted: %s\n", what.c_str());
  return 2;
}

int not_converted(const std::string& why, const std::string& complaints) {
  std::fprintf(stderr, "not converted: %s\n%s", why.c_str(), complaints.c_str());
  return 1;
}

jail::Error failed(std::string doing) {
  return {jail::ErrorKind::kernel, std::move(doing), errno, {}};
}

jail::Result<std::string> read_file(const std::string& path) {
  const jail::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return failed("open " + path);
  std::string content;
  std::array<char, 65536> room;
  for (;;) {
    const ssize_t got = ::read(file.get(), room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read " + path);
    if (got == 0) return content;
    content.append(room.data(), static_cast<std::size_t>(got));
    if (content.size() > max_input) {
      return jail::Error{jail::ErrorKind::invalid, "read " + path + ": it is too large", 0, {}};
    }
  }
}

// `path` appears whole or not at all, since the file gets its name when it is complete.
jail::Result<void> write_file(const std::string& path, std::string_view content) {
  const std::string part = path + ".part";
  const jail::Fd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) return failed("create " + part);
  while (!content.empty()) {
    const ssize_t put = ::write(file.get(), content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  if (content.empty() && ::rename(part.c_str(), path.c_str()) == 0) return {};
  const jail::Error error = failed("write " + path);
  ::unlink(part.c_str());
  return error;
}

std::string describe(const jail::ExitReport& report) {
  std::string text{jail::to_string(report.ended)};
  if (report.ended == jail::Ended::exited) text += " " + std::to_string(report.exit_code);
  if (report.ended == jail::Ended::signaled) text += " " + std::to_string(report.signal);
  return text;
}

int convert(const std::string& input, const std::string& result, const std::string& converter) {
  const auto image = read_file(input);
  if (!image) return here(image.error().message());
  // The file has neither its old name nor an extension: convert must judge by the content alone,
  // and a name may be a command ("ephemeral:", "@list", "%d").
  const auto spec = confinement::spec(converter, "input", "png:output");
  if (!spec) return here(spec.error().message());
  const auto launcher = jail::Launcher::start();
  if (!launcher) return here(launcher.error().message());
  auto jail = launcher->launch(*spec);
  if (!jail) return here(jail.error().message());
  const auto ready = jail->wait(jail::Phase::ready, seconds(10));
  if (!ready) return here(ready.error().message());
  if (*ready != jail::Phase::ready) return here("the jail was not ready in time");
  if (auto put = jail->write_file("input", *image, 0600); !put) return here(put.error().message());

  if (auto started = jail->start(); !started) return here(started.error().message());
  // convert reads its input from a file. When this returns its last process is dead, and nobody
  // writes into the working directory any more.
  const auto output = jail->communicate({}, max_complaints);
  if (!output) return here(output.error().message());
  const jail::ExitReport& report = jail->report();
  if (report.ended != jail::Ended::exited || report.exit_code != 0) {
    return not_converted(describe(report), output->err);
  }
  const std::array<std::string, 1> wanted = {"output"};
  jail::CollectLimits limits;
  limits.file_bytes = limits.total_bytes = 32u << 20;
  const jail::Collection left = jail::collect(jail->working_directory_fd(), wanted, limits);
  if (left.files.size() != 1) return not_converted("it left no regular file", output->err);
  // The bytes are the guest's, so a decoder of this PNG still handles untrusted data; but it is one
  // format with a well-tested decoder, instead of two hundred.
  if (!left.files[0].content.starts_with(png_signature)) {
    return not_converted("it left something that is no PNG", output->err);
  }
  if (auto kept = write_file(result, left.files[0].content); !kept) {
    return here(kept.error().message());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    return here("usage: convert_untrusted INPUT OUTPUT.png [CONVERTER]");
  }
  return convert(argv[1], argv[2], argc == 4 ? argv[3] : "/usr/bin/convert");
}
