#include "server/api/sandbox_target.h"

#include "server/api/query.h"

namespace server {

using runtime::Refusal;
using runtime::Sandboxes;

namespace {

std::variant<SandboxTarget, Response> target_of(const Sandboxes::Or<Sandboxes::Found>& found) {
  if (const auto* refusal = std::get_if<Refusal>(&found)) return problem(*refusal);
  const auto& sandbox = std::get<Sandboxes::Found>(found);
  return SandboxTarget{sandbox, runtime::LivingSandbox::Use(sandbox->living())};
}

std::variant<ProcessTarget, Response> process_in(std::variant<SandboxTarget, Response> found,
                                                 const Call& call) {
  if (auto* refusal = std::get_if<Response>(&found)) return std::move(*refusal);
  auto& target = std::get<SandboxTarget>(found);
  auto process = Sandboxes::find_process(*target.sandbox, call.parameter("pid"));
  if (const auto* refusal = std::get_if<Refusal>(&process)) return problem(*refusal);
  return ProcessTarget{std::move(target), std::get<0>(std::move(process))};
}

}  // namespace

std::variant<SandboxTarget, Response> sandbox_target(const runtime::Services& services,
                                                     const Call& call) {
  return target_of(services.sandboxes->find_living(call.principal, call.parameter("id")));
}

std::variant<SandboxTarget, Response> active_sandbox(const runtime::Services& services,
                                                     const Call& call) {
  return target_of(services.sandboxes->find_active(call.principal, call.parameter("id")));
}

std::variant<ProcessTarget, Response> process_target(const runtime::Services& services,
                                                     const Call& call) {
  return process_in(sandbox_target(services, call), call);
}

std::variant<ProcessTarget, Response> active_process(const runtime::Services& services,
                                                     const Call& call) {
  return process_in(active_sandbox(services, call), call);
}

std::variant<std::string, Response> path_of_file(std::string_view rest) {
  const auto path = percent_decoded(rest);
  if (!path)
    return problem(RefusalCode::bad_request, "path: a % is not followed by two hexadecimal digits");
  if (path->find('\0') != path->npos)
    return problem(RefusalCode::bad_request, "path: a NUL is in no path");
  return "/" + *path;
}

std::variant<FileTarget, Response> file_target(const runtime::Services& services,
                                               const Call& call) {
  auto path = path_of_file(call.parameter("path"));
  if (auto* refusal = std::get_if<Response>(&path)) return std::move(*refusal);
  auto found = active_sandbox(services, call);
  if (auto* refusal = std::get_if<Response>(&found)) return std::move(*refusal);
  auto& target = std::get<SandboxTarget>(found);
  auto files = target.sandbox->files();
  return FileTarget{std::move(target), std::get<std::string>(std::move(path)), std::move(files)};
}

Response json_answer(runtime::json::Writer writer, int status) {
  Response response;
  response.status = status;
  response.body = std::move(writer).take();
  return response;
}

}  // namespace server
