#include "server/api/kubernetes_style/sandbox_view.h"

#include <chrono>
#include <cstdint>

#include "runtime/json/utc_text.h"
#include "server/api/kubernetes_style/create_request.h"
#include "server/api/kubernetes_style/quantity.h"

namespace server::kubernetes_style {
namespace {

using runtime::json::Writer;

std::string word_in(const runtime::Metadata& metadata, std::string_view name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? std::string() : found->second;
}

double minutes(std::chrono::milliseconds time) {
  return std::chrono::duration<double, std::ratio<60>>(time).count();
}

std::string_view status_of(const runtime::Sandbox& sandbox) {
  using State = runtime::Sandbox::State;
  const State state = sandbox.state();
  if (state == State::paused) return "paused";
  return state == State::ended ? "ended" : "running";
}

}  // namespace

const std::string& name_of(const runtime::Sandbox& sandbox) {
  return sandbox.request().name.empty() ? sandbox.id() : sandbox.request().name;
}

std::string success(const runtime::Sandbox& sandbox, std::string_view done) {
  return "Sandbox " + name_of(sandbox) + " " + std::string(done) + " successfully";
}

void write_named_sandbox(Writer& writer, const runtime::Sandboxes& sandboxes,
                         const runtime::Sandbox& sandbox) {
  const runtime::SandboxRequest& request = sandbox.request();
  const runtime::SandboxLimits limits = sandbox.limits();
  const auto metadata = sandbox.metadata();
  writer.begin_object().key("name").string(name_of(sandbox)).key("id").string(sandbox.id());
  writer.key("environment");
  writer.string(request.template_name.empty() ? "none" : request.template_name);
  writer.key("app").string(word_in(metadata, app_metadata));
  writer.key("timeout").number(minutes(request.timeout)).key("idle_timeout");
  const auto idle = sandbox.idle();
  idle ? writer.number(minutes(*idle)) : writer.null();
  writer.key("idle_policy").string(request.pauses_at_its_end ? "scaledown" : "delete");
  writer.key("workdir").string(request.working_directory);
  writer.key("cpu_limit")
      .string(millicores_text(limits.cpu_percent == 0 ? sandboxes.options().cores
                                                      : limits.cpu_percent / 100.0));
  writer.key("memory_limit").string(mebibytes_text(limits.memory_mb));
  writer.key("ports").begin_array();
  for (const std::uint32_t port : request.ports) writer.integer(port);
  writer.end_array();
  writer.key("status").string(status_of(sandbox));
  writer.key("created_at").string(runtime::json::utc_text(sandbox.created()));
  writer.key("ends_at").string(runtime::json::utc_text(sandbox.ends_at())).end_object();
}

}  // namespace server::kubernetes_style
