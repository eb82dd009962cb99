// The targets of requests below /v1/sandboxes/{id}, which are found before their handlers run.
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

// A living sandbox, which is not idle as long as this exists.
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

// Find the target by the parameters id, pid and path of the pattern. The Response says that it does
// not exist or has ended. A paused sandbox stays paused: the server's own records of it can be
// read, and a process can be killed.
std::variant<SandboxTarget, Response> sandbox_target(const runtime::Services& services,
                                                     const Call& call);
std::variant<ProcessTarget, Response> process_target(const runtime::Services& services,
                                                     const Call& call);
// The same for requests that need the sandbox to run: a paused one is resumed, or the Response says
// that it is paused.
std::variant<SandboxTarget, Response> active_sandbox(const runtime::Services& services,
                                                     const Call& call);
std::variant<ProcessTarget, Response> active_process(const runtime::Services& services,
                                                     const Call& call);
// Returns the absolute path for `rest`, the part of a request's path behind /files/; or a problem.
std::variant<std::string, Response> path_of_file(std::string_view rest);
std::variant<FileTarget, Response> file_target(const runtime::Services& services, const Call& call);

// Returns a handler that finds its target by `find`, answers with the Response where there is none,
// and otherwise calls `function` with `first...`, the target and the call.
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
