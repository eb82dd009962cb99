// This part of LivingSandbox finds programs and starts them.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/living/living_sandbox.h"
#include "runtime/sandbox/warm_fit.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Error;
using jail::ErrorKind;
using jail::Result;

// A caller may send a PATH of any length; only this much of it is searched.
constexpr std::size_t searched_path_bytes = 4096;
constexpr int searched_directories = 64;
constexpr std::size_t quoted_bytes = 200;

Error not_there(const std::string& what) { return {ErrorKind::invalid, what, 0, {}}; }

std::string_view path_of(const std::vector<std::string>& env) {
  for (const std::string_view variable : env) {
    if (variable.starts_with("PATH=")) return variable.substr(5);
  }
  return {};
}

std::string absolute(const std::string& directory, std::string_view path) {
  return (std::filesystem::path(directory) / path).lexically_normal().string();
}

Error no_program(const std::string& name, const std::string& where) {
  return {ErrorKind::invalid,
          "command: " + name.substr(0, quoted_bytes) + ": not found" + where,
          ENOENT,
          {}};
}

std::string directory_of(const std::string& file) { return file.substr(0, file.rfind('/')); }

// Returns whether a fork of the zygote is what the command would be: its interpreter with a file
// in the same directory, and no variable that comes too late.
bool can_be_forked(const Zygote& zygote, const ProcessCommand& command) {
  if (command.terminal || command.argv.size() < 2) return false;
  const std::string directory = directory_of(zygote.argv[1]);
  return command.argv[0] == zygote.argv[0] && directory_of(command.argv[1]) == directory &&
         command.working_directory == directory &&
         may_have_variables(zygote.env, zygote.has_imports, command.env);
}

bool is_program(const jail::Fd& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & 0111) != 0;
}

}  // namespace

// A command that can be a fork is executed where the zygote is gone.
asio::awaitable<Result<std::shared_ptr<LivingProcess>>> LivingSandbox::spawn(ProcessCommand command,
                                                                             Cancel cancel,
                                                                             ProcessNews news) {
  const auto attendance = command.in_background ? Attendance::none : Attendance::awaited;
  auto use = std::make_shared<Use>(shared_from_this(), attendance);
  auto process = co_await start_one(command, cancel);
  const bool is_gone = !process && process.error().kind == ErrorKind::closed;
  if (is_gone && command.is_warm && !cancel.requested() && lives()) {
    command.is_warm = false;
    process = co_await start_one(command, cancel);
  }
  if (!process) co_return process;
  add(*process);
  LivingProcess::run(*process, news, [use = std::move(use), self = shared_from_this()]() mutable {
    use.reset();
    self->forget_oldest_ended();
  });
  co_return process;
}

asio::awaitable<Result<std::shared_ptr<LivingProcess>>> LivingSandbox::start_one(
    ProcessCommand command, Cancel cancel) {
  auto spawned = spawn_now(command);
  if (!spawned) co_return spawned.error();
  const std::shared_ptr<void> starting(nullptr, [self = shared_from_this()](void*) {
    const std::lock_guard lock(self->mutex_);
    --self->starting_;
  });
  auto process = co_await LivingProcess::start(std::move(*spawned), std::move(command), order_,
                                               std::move(cancel));
  co_return process;
}

Result<ProcessCommand> LivingSandbox::resolved(ProcessCommand command) const {
  if (const auto there = open_file(command.working_directory, O_PATH | O_DIRECTORY, 0); !there) {
    if (there.error().kind == ErrorKind::closed) return there.error();
    return not_there("working_directory: " + command.working_directory +
                     " is no directory of the sandbox");
  }
  auto program = find_program(command);
  if (!program) return program.error();
  command.argv[0] = std::move(*program);
  command.is_warm =
      command.is_warm && zygote_ && can_be_forked(*zygote_, command) && !has_user_packages(command);
  return command;
}

// Python looks for them once, when it starts, and what it finds may run programs of its own: the
// zygote has seen none, and a fork would have to do all of that later.
bool LivingSandbox::has_user_packages(const ProcessCommand& command) const {
  const std::string directory = user_packages_of(command.env);
  return !directory.empty() && open_file(directory, O_PATH | O_DIRECTORY, 0);
}

Result<jail::Process> LivingSandbox::spawn_now(ProcessCommand& command) {
  const std::lock_guard lock(mutex_);
  if (auto runs = resume_on_demand_now(); !runs) return runs.error();
  if (way_out_ != nullptr) {
    command.env = jail::with_egress_variables(std::move(command.env), network_rules_);
  }
  if (gateway_ != nullptr) {
    command.env = with_secret_gateway(std::move(command.env), network_rules_);
  }
  jail::ProcessSpec spec{.argv = command.argv,
                         .env = command.env,
                         .working_directory = command.working_directory,
                         .terminal = command.terminal,
                         .wall = command.timeout};
  if (command.is_warm) {
    // The interpreter runs already, in the only directory that it can have.
    spec.warm = true;
    spec.argv.erase(spec.argv.begin());
    spec.working_directory.clear();
  }
  auto spawned = jail_->spawn(spec);
  if (spawned) ++starting_;
  return spawned;
}

Result<std::string> LivingSandbox::find_program(const ProcessCommand& command) const {
  const std::string& name = command.argv[0];
  const std::string here = absolute(command.working_directory, "");
  if (name.find('/') != name.npos) {
    std::string path = absolute(here, name);
    const auto file = open_file(path, O_PATH, 0);
    if (file && is_program(*file)) return path;
    if (!file && file.error().kind == ErrorKind::closed) return file.error();
    return no_program(name, ", or it cannot be executed");
  }
  const std::string_view whole = path_of(command.env).substr(0, searched_path_bytes);
  std::string_view left = whole;
  for (int entry = 0; entry < searched_directories && !left.empty(); ++entry) {
    const std::string_view directory = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(directory.size() + 1, left.size()));
    std::string path = absolute(absolute(here, directory), name);
    const auto file = open_file(path, O_PATH, 0);
    if (file && is_program(*file)) return path;
    if (!file && file.error().kind == ErrorKind::closed) return file.error();
  }
  return no_program(name, " in PATH, which is " + std::string(whole.substr(0, quoted_bytes)));
}

}  // namespace runtime
