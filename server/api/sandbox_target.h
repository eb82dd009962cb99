// What requests below /v1/sandboxes/{id} are about, which is found before their handlers run.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/sandboxes.h"
#include "runtime/service/services.h"
#include "server/api/routes.h"

namespace server {

// A sandbox that lives and is not idle meanwhile.
struct SandboxTarget {
  runtime::Sandboxes::Found sandbox;
  runtime::LivingSandbox::Use use;
};

struct ProcessTarget : SandboxTarget {
  std::shared_ptr<runtime::LivingProcess> process;
};

struct FileTarget : SandboxTarget {
  std::string path;  // absolute
  runtime::SandboxFiles files;
};

// By the parameters id, pid and path of the pattern. The Response says that there is no such thing,
// or that it has ended. One that is paused stays so: what the server itself remembers of it can be
// had, and a process can be killed.
std::variant<SandboxTarget, Response> sandbox_target(const runtime::Services& services,
                                                     const Call& call);
std::variant<ProcessTarget, Response> process_target(const runtime::Services& services,
                                                     const Call& call);
// The same for who needs the sandbox to run: one that is paused is resumed, or the Response says
// that it is paused.
std::variant<SandboxTarget, Response> active_sandbox(const runtime::Services& services,
                                                     const Call& call);
std::variant<ProcessTarget, Response> active_process(const runtime::Services& services,
                                                     const Call& call);
// The absolute path that `rest`, which stands behind /files/ in a request, names; or a problem.
std::variant<std::string, Response> path_of_file(std::string_view rest);
std::variant<FileTarget, Response> file_target(const runtime::Services& services, const Call& call);

// The handler that finds its target by `find`, answers where there is none, and else calls
// `function` with `first...`, the target and the call.
template <auto find, class Function, class... First>
RouteHandler for_target(runtime::Services services, Function function, First... first) {
  return [services, function, first...](Call call) -> boost::asio::awaitable<Response> {
    auto found = find(services, call);
    if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
    co_return co_await function(services, first..., std::get<0>(std::move(found)), std::move(call));
  };
}

Response json_answer(runtime::json::Writer writer, int status = 200);

}  // namespace server
