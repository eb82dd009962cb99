// Starts command lines as a daemon in C++ would, and reports how long each took.
//
//   bench_spawn FILE
//
// FILE has a line for each contender: its name, what it must print, and its command line, separated
// by tabs; "{n}" in a word becomes a number that no other run has, "{w}" the number of
// the worker that starts it. Commands on stdin, each answered
// by a line of JSON:
//   once NAME                   one run, in microseconds from before the spawn to the reaped child
//   flood NAME CLIENTS SECONDS  as many as CLIENTS workers get done, one after the other each; the
//                               rate is that of the last three quarters, while all are at work
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/numbers.h"

namespace {

using bench::Clock;
using bench::Line;
using bench::microseconds;
using bench::Times;

struct Contender {
  std::string expected;
  std::vector<std::string> command;
};

using Contenders = std::map<std::string, Contender, std::less<>>;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

Contenders read_contenders(const char* path) {
  Contenders contenders;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> parts = split(line, '\t');
    if (parts.size() < 3) throw std::runtime_error("a line of the file is too short: " + line);
    contenders[parts[0]] = {parts[1] + "\n", {parts.begin() + 2, parts.end()}};
  }
  return contenders;
}

std::string with_number(std::string word, std::string_view mark, unsigned number) {
  const std::size_t place = word.find(mark);
  if (place != std::string::npos) word.replace(place, mark.size(), std::to_string(number));
  return word;
}

std::string read_all(int from) {
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t got = ::read(from, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
}

// Takes the next free number, so that several threads may run at once.
double run_once(const Contender& contender, std::atomic<unsigned>& runs, unsigned worker) {
  const unsigned number = ++runs;
  std::vector<std::string> words;
  for (const std::string& word : contender.command) {
    words.push_back(with_number(with_number(word, "{n}", number), "{w}", worker));
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);

  const auto begun = Clock::now();
  pid_t child = -1;
  const int error =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::close(ends[1]);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    ::close(ends[0]);
    throw std::runtime_error(words[0] + ": " + std::strerror(error));
  }
  const std::string output = read_all(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const double taken = microseconds(Clock::now() - begun);
  ::close(ends[0]);
  if (status != 0 || output != contender.expected) {
    throw std::runtime_error(words[0] + " ended with wait status " + std::to_string(status) +
                             " and printed: " + output.substr(0, 200));
  }
  return taken;
}

struct Flood {
  Times times;
  std::vector<Clock::time_point> ends;
  std::optional<std::string> trouble;  // the first failure, which ends the flood
  std::mutex mutex;

  void work(const Contender& contender, std::atomic<unsigned>& runs, unsigned worker,
            Clock::time_point until) {
    while (Clock::now() < until) {
      try {
        const double taken = run_once(contender, runs, worker);
        const std::lock_guard lock(mutex);
        if (trouble) return;
        times.push_back(taken);
        ends.push_back(Clock::now());
      } catch (const std::runtime_error& error) {
        const std::lock_guard lock(mutex);
        if (!trouble) trouble = error.what();
        return;
      }
    }
  }
};

Line flood(const Contender& contender, std::atomic<unsigned>& runs, unsigned clients,
           double seconds) {
  Flood all;
  const auto after = [begun = Clock::now()](double later) {
    return begun +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(later));
  };
  const auto from = after(seconds / 4);
  const auto until = after(seconds);
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < clients; ++i) {
    workers.emplace_back([&, i] { all.work(contender, runs, i, until); });
  }
  for (std::thread& worker : workers) worker.join();
  if (all.trouble) throw std::runtime_error(*all.trouble);
  const auto counted = std::count_if(all.ends.begin(), all.ends.end(),
                                     [&](auto end) { return end >= from && end < until; });
  return Line()
      .number("per_second", static_cast<double>(counted) / (seconds * 0.75))
      .times("total", all.times);
}

Line answer(const Contenders& contenders, std::atomic<unsigned>& runs, const std::string& command) {
  const std::vector<std::string> words = split(command, '\t');
  if (words.size() < 2) throw std::runtime_error("not a command: " + command);
  const auto found = contenders.find(words[1]);
  if (found == contenders.end()) throw std::runtime_error("no contender " + words[1]);
  if (words[0] == "once" && words.size() == 2) {
    return Line().times("total", {run_once(found->second, runs, 0)});
  }
  if (words[0] == "flood" && words.size() == 4) {
    return flood(found->second, runs, static_cast<unsigned>(std::atoi(words[2].c_str())),
                 std::atof(words[3].c_str()));
  }
  throw std::runtime_error("not a command: " + command);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: bench_spawn FILE\n");
    return 2;
  }
  try {
    const Contenders contenders = read_contenders(arguments[1]);
    std::atomic<unsigned> runs{0};
    for (std::string command; std::getline(std::cin, command);) {
      try {
        answer(contenders, runs, command).print();
      } catch (const std::runtime_error& error) {
        Line().word("error", error.what()).print();
      }
    }
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "bench_spawn: %s\n", error.what());
    return 1;
  }
  return 0;
}
