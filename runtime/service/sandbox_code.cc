// Sandboxes: programs that a request brings as text, and jails that are forked into.
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>
#include <utility>

#include "runtime/observe/uuid.h"
#include "runtime/sandbox/jail_handle.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

constexpr std::size_t random_bytes_of_name = 10;
// Modules are imported in a few seconds, once for each template.
constexpr std::chrono::seconds patience_for_a_zygote{30};
constexpr std::chrono::milliseconds look_at_zygote{5};

// ".main-k3jx9d2aq7.py": two programs at once have files of their own.
std::string name_of_program(Language language, std::string_view code) {
  const std::string_view usual = file_name_of(language, code);
  const std::size_t dot = usual.rfind('.');
  return "." + std::string(usual.substr(0, dot)) + "-" +
         random_text().substr(0, random_bytes_of_name) + std::string(usual.substr(dot));
}

std::string in_directory(std::string directory, const std::string& name) {
  while (directory.ends_with('/')) directory.pop_back();
  return directory + "/" + name;
}

bool is_plain(std::string_view path) {
  return path.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "-_./") == path.npos;
}

bool is_not_ready_yet(const jail::Result<LivingJail>& jail) {
  return !jail && jail.error().kind == jail::ErrorKind::exhausted && !is_shortage(jail.error());
}

}  // namespace

Sandboxes::Or<Sandboxes::Program> Sandboxes::program_of(const Sandbox& sandbox,
                                                        const ProcessRequest& request) {
  const Language language = request.language.value_or(sandbox.living()->language());
  const std::string& directory = request.working_directory.empty()
                                     ? sandbox.request().working_directory
                                     : request.working_directory;
  Program program;
  program.files.push_back(in_directory(directory, name_of_program(language, request.code)));
  const std::string file = program.files.front();
  if (language == Language::typescript) {
    if (!is_plain(file)) {
      return Refusal{.code = RefusalCode::bad_request,
                     .detail =
                         "working_directory: TypeScript runs only in one whose path has "
                         "no other characters than letters, digits, and - _ . /"};
    }
    program.files.push_back(module_of_typescript(file));
  }
  program.argv = arguments_for(language, file, sandbox.request().memory_mb, request.args);
  return program;
}

asio::awaitable<std::optional<Refusal>> Sandboxes::write_program(Found sandbox, std::string path,
                                                                 std::string code) {
  auto write = [files = sandbox->files(), path = std::move(path),
                code = std::move(code)]() -> jail::Result<void> {
    auto file = files.create(path, 0644);
    if (!file) return file.error();
    if (auto written = file->write(code); !written) return written.error();
    if (auto named = file->commit(); !named) return named.error();
    return {};
  };
  const auto written = co_await do_file_work(*sandbox, std::move(write));
  if (written) co_return std::nullopt;
  if (written.error().kind == jail::ErrorKind::closed) co_return co_await ending_refusal(sandbox);
  Refusal refusal = refusal_of_file(written.error(), *sandbox);
  refusal.detail = "code: " + refusal.detail;
  co_return refusal;
}

// A guest may have removed them, or replaced them by something else.
asio::awaitable<void> Sandboxes::remove_program(Found sandbox, std::vector<std::string> files) {
  if (files.empty()) co_return;
  auto remove = [at = sandbox->files(), files = std::move(files)]() -> jail::Result<void> {
    for (const std::string& file : files) (void)at.remove(file, false);
    return {};
  };
  (void)co_await do_file_work(*sandbox, std::move(remove));
}

asio::awaitable<jail::Result<LivingJail>> Sandboxes::living_jail(LivingRequest wanted) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const auto deadline = std::chrono::steady_clock::now() + patience_for_a_zygote;
  for (;;) {
    auto jail = runner_.launch_living(wanted);
    if (!wanted.is_warm || !is_not_ready_yet(jail)) co_return jail;
    if (std::chrono::steady_clock::now() >= deadline) {
      co_return jail::Error{jail::ErrorKind::timed_out, "the zygote is not ready in time", 0, {}};
    }
    timer.expires_after(look_at_zygote);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace runtime
