// Sandboxes: where the processes of one start.
#include <string>
#include <utility>

#include "runtime/living/sandbox_files.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

}  // namespace

// Makes the working directory that the caller named, where it does not exist. Returns false where
// it cannot be made, so that no process could start.
asio::awaitable<bool> Sandboxes::has_working_directory(Found sandbox) {
  const std::string path = sandbox->request().working_directory;
  if (path == SandboxRequest().working_directory) co_return true;
  auto make = [files = sandbox->files(), path]() -> jail::Result<bool> {
    if (const auto there = files.open_directory(path)) return false;
    return files.make_directory(path);
  };
  const auto made = co_await do_file_work(*sandbox, std::move(make));
  co_return made || made.error().sys_errno == 0;
}

asio::awaitable<std::optional<Refusal>> Sandboxes::make_working_directory(Caller caller,
                                                                          Found sandbox) {
  const bool is_there = co_await has_working_directory(sandbox);
  if (is_there) co_return std::nullopt;
  const std::string path = sandbox->request().working_directory;
  co_await remove(caller, sandbox);
  // Nobody was told of it, so that it is forgotten too, unless it has not ended in time.
  if (sandbox->end()) co_await remove(std::move(caller), sandbox);
  co_return Refusal{.code = RefusalCode::bad_request,
                    .detail = "working_directory: " + path +
                              " is no directory of the sandbox, and only below /workspace and "
                              "/tmp can it be made"};
}

}  // namespace runtime
