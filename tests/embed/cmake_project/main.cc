// A stranger's program that runs a snippet in a jail under its own poll loop. Prints what the
// snippet printed, what it left behind and how it ended.
#include <jail/collect.h>
#include <jail/launcher.h>
#include <jail/policy.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

constexpr const char* program =
    "import sys\n"
    "print(int(open('in/number.txt').read()) * 7)\n"
    "open('left.txt', 'w').write('left behind')\n"
    "sys.exit(3)\n";

int fail(const jail::Error& error) {
  std::fprintf(stderr, "stranger: %s\n", error.message().c_str());
  return 1;
}

// Returns whether there may be more to come.
bool drain(int fd, std::string& into) {
  std::array<char, 4096> room;
  for (;;) {
    const ssize_t got = ::read(fd, room.data(), room.size());
    if (got == 0) return false;
    if (got < 0) return true;
    into.append(room.data(), static_cast<std::size_t>(got));
  }
}

jail::Result<void> run(jail::Jail& jail, std::string& output) {
  const jail::Fd out = jail.take_stdout();
  bool open = true;
  for (;;) {
    const jail::Phase before = jail.phase();
    const jail::Result<jail::Phase> phase = jail.advance();
    if (!phase) return phase.error();
    if (*phase == jail::Phase::ended) break;
    if (before == jail::Phase::launching && *phase == jail::Phase::ready) {
      auto done = jail.write_file("in/number.txt", "6", 0644);
      if (done) done = jail.write_file("main.py", program, 0644);
      if (done) done = jail.start();
      if (!done) return done;
    }
    std::array<pollfd, 2> watched = {
        {{jail.control_fd(), POLLIN, 0}, {open ? out.get() : -1, POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), -1);
    if (watched[1].revents != 0) open = drain(out.get(), output);
  }
  drain(out.get(), output);
  return {};
}

}  // namespace

int main() {
  const jail::Result<jail::FilterProgram> filter = jail::compile_policy(jail::default_policy());
  if (!filter) return fail(filter.error());
  const jail::Result<jail::Launcher> launcher = jail::Launcher::start();
  if (!launcher) return fail(launcher.error());
  jail::JailSpec spec;
  spec.argv = {"/usr/bin/python3", "main.py"};
  spec.root = jail::host_root();
  spec.filter = *filter;
  jail::Result<jail::Jail> jail = launcher->launch(spec);
  if (!jail) return fail(jail.error());
  std::string output;
  if (const auto ran = run(*jail, output); !ran) return fail(ran.error());
  std::fputs(output.c_str(), stdout);
  const std::array<std::string, 1> globs = {"*.txt"};
  for (const jail::CollectedFile& file :
       jail::collect(jail->working_directory_fd(), globs, {}).files) {
    std::printf("%s: %s\n", file.path.c_str(), file.content.c_str());
  }
  const jail::ExitReport& report = jail->report();
  std::printf("exited: %s, status %d\n", report.ended == jail::Ended::exited ? "yes" : "no",
              report.exit_code);
  return 0;
}
