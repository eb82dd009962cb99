// Sandboxes: where the processes of one start.
#include <string>
#include <utility>

#include "runtime/living/sandbox_files.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

}  // namespace

// Makes the working directory that the caller named, where it does not exist. Where it cannot be
// made, no process could start, and the sandbox is ended.
asio::awaitable<std::optional<Refusal>> Sandboxes::make_working_directory(Caller caller,
                                                                          Found sandbox) {
  const std::string path = sandbox->request().working_directory;
  if (path == SandboxRequest().working_directory) co_return std::nullopt;
  auto make = [files = sandbox->files(), path]() -> jail::Result<bool> {
    if (const auto there = files.open_directory(path)) return false;
    return files.make_directory(path);
  };
  const auto made = co_await do_file_work(*sandbox, std::move(make));
  if (made || made.error().sys_errno == 0) co_return std::nullopt;
  co_await remove(std::move(caller), sandbox);
  co_return Refusal{.code = RefusalCode::bad_request,
                    .detail = "working_directory: " + path +
                              " is no directory of the sandbox and cannot be made there"};
}

}  // namespace runtime
