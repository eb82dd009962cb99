#include "server/cli/sandbox/create_request.h"

#include <utility>

#include "runtime/json/writer.h"
#include "runtime/service/volume_json.h"
#include "server/cli/sandbox/json_text.h"

namespace server::client {
namespace {

namespace json = runtime::json;

void write_text(json::Writer& writer, std::string_view name, const std::string& text) {
  if (!text.empty()) writer.key(name).string(text);
}

void write_number(json::Writer& writer, std::string_view name,
                  const std::optional<std::uint32_t>& number) {
  if (number) writer.key(name).integer(*number);
}

void write_map(json::Writer& writer, std::string_view name, const NamedTexts& texts) {
  if (texts.empty()) return;
  writer.key(name);
  write_texts(writer, texts);
}

void write_network(json::Writer& writer, const std::vector<std::string>& allow,
                   const std::vector<runtime::NetworkSecret>& secrets) {
  writer.key("network");
  if (allow.empty()) {
    writer.string("none");
    return;
  }
  writer.begin_object().key("allow").begin_array();
  for (const std::string& rule : allow) writer.string(rule);
  writer.end_array();
  if (!secrets.empty()) writer.key("secrets").begin_array();
  for (const auto& [name, value] : secrets) {
    writer.begin_object().key("host").string(name.host).key("port").integer(name.port);
    writer.key("header").string(name.header).key("value").string(value.reveal()).end_object();
  }
  if (!secrets.empty()) writer.end_array();
  writer.end_object();
}

void write_limits(json::Writer& writer, const LimitOptions& limits) {
  if (limits == LimitOptions()) return;
  writer.key("limits").begin_object();
  write_number(writer, "memory_mb", limits.memory_mb);
  write_number(writer, "processes", limits.processes);
  write_number(writer, "disk_mb", limits.disk_mb);
  if (limits.cpu) writer.key("cpu").number(*limits.cpu);
  writer.end_object();
}

}  // namespace

// What was not said is left to the server.
std::string request_of(const CreateOptions& options,
                       const std::vector<runtime::NetworkSecret>& secrets) {
  json::Writer writer;
  writer.begin_object();
  write_text(writer, "name", options.name);
  write_text(writer, "template", options.template_name);
  write_text(writer, "working_directory", options.working_directory);
  write_map(writer, "env", options.env);
  write_map(writer, "metadata", options.metadata);
  write_limits(writer, options.limits);
  write_text(writer, "disk_kind", options.disk_kind);
  write_number(writer, "timeout_seconds", options.timeout_seconds);
  write_number(writer, "idle_seconds", options.idle_seconds);
  write_text(writer, "on_timeout", options.on_timeout);
  if (!options.auto_resume) writer.key("auto_resume").boolean(false);
  if (!options.allow.empty()) write_network(writer, options.allow, secrets);
  if (!options.volumes.empty()) runtime::write_volume_mounts(writer, options.volumes);
  if (options.is_warm) writer.key("warm").boolean(true);
  if (!options.ports.empty()) {
    writer.key("ports").begin_array();
    for (const std::uint32_t port : options.ports) writer.integer(port);
    writer.end_array();
  }
  writer.end_object();
  return std::move(writer).take();
}

std::string request_of(const ChangeOptions& options,
                       const std::vector<runtime::NetworkSecret>& secrets) {
  json::Writer writer;
  writer.begin_object();
  write_limits(writer, options.limits);
  if (options.allow) write_network(writer, *options.allow, secrets);
  write_number(writer, "timeout_seconds", options.timeout_seconds);
  write_number(writer, "idle_seconds", options.idle_seconds);
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace server::client
