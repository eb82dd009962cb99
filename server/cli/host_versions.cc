#include "server/cli/host_versions.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "runtime/sandbox/language.h"

namespace server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{2};
constexpr std::size_t max_bytes = 4096;
constexpr std::string_view numerals = "0123456789";

struct Question {
  std::string name;
  pid_t pid = -1;
  jail::Fd answer;
};

// Invalid where it cannot be asked.
Question ask(const std::string& path) {
  Question question{.name = path.substr(path.rfind('/') + 1), .pid = -1, .answer = {}};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return question;
  question.answer = jail::Fd(ends[0]);
  const jail::Fd output(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  std::string program = path;
  std::string option = "--version";
  std::string search = "PATH=/usr/bin:/bin";
  std::array<char*, 3> arguments = {program.data(), option.data(), nullptr};
  std::array<char*, 2> environment = {search.data(), nullptr};
  const int error = ::posix_spawn(&question.pid, path.c_str(), &actions, nullptr, arguments.data(),
                                  environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) question.pid = -1;
  return question;
}

// All that it prints until `deadline`.
std::string answer_to(const Question& question, Clock::time_point deadline) {
  std::string text;
  while (text.size() < max_bytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{.fd = question.answer.get(), .events = POLLIN, .revents = 0};
    const int ready = left <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    std::array<char, max_bytes> bytes;
    const ssize_t count = ::read(question.answer.get(), bytes.data(), bytes.size());
    if (count <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return text;
}

void end(const Question& question) {
  ::kill(question.pid, SIGKILL);
  while (::waitpid(question.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string version_in(std::string_view text) {
  for (std::size_t at = text.find_first_of(numerals); at != text.npos;
       at = text.find_first_of(numerals, at)) {
    const std::size_t after = std::min(text.find_first_not_of("0123456789.", at), text.size());
    std::string_view version = text.substr(at, after - at);
    while (version.ends_with('.')) version.remove_suffix(1);
    if (version.find('.') != version.npos) return std::string(version);
    at = after;
  }
  return {};
}

void ask_host_versions(runtime::ProgramRoot& root) {
  if (root.kind != runtime::ProgramRoot::Kind::host) return;
  std::vector<Question> questions;
  for (const runtime::Language language : runtime::all_languages) {
    for (const std::string_view path : runtime::programs_of(language)) {
      const std::string name(path.substr(path.rfind('/') + 1));
      const auto known = root.versions.find(name);
      const bool is_asked = std::ranges::any_of(
          questions, [&](const Question& question) { return question.name == name; });
      if (known == root.versions.end() || !known->second.empty() || is_asked) continue;
      Question question = ask(std::string(path));
      if (question.pid > 0) questions.push_back(std::move(question));
    }
  }
  const auto deadline = Clock::now() + patience;
  for (const Question& question : questions) {
    root.versions[question.name] = version_in(answer_to(question, deadline));
    end(question);
  }
}

}  // namespace server
