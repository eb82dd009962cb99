#include "runtime/service/sandbox_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "runtime/json/utc_text.h"
#include "runtime/service/declared_ports.h"
#include "runtime/service/result_json.h"
#include "runtime/service/volume_json.h"

namespace runtime {
namespace {

using json::Writer;

void write_text_or_null(Writer& writer, std::string_view name, const std::string& text) {
  writer.key(name);
  text.empty() ? writer.null() : writer.string(text);
}

double cpu_of(const SandboxLimits& limits, double of_the_operator) {
  return limits.cpu_percent == 0 ? of_the_operator : limits.cpu_percent / 100.0;
}

void write_limits_of(Writer& writer, const Sandbox& sandbox, double cores) {
  const SandboxLimits limits = sandbox.limits();
  writer.key("limits").begin_object();
  writer.key("memory_mb").integer(limits.memory_mb);
  writer.key("processes").integer(limits.processes);
  writer.key("disk_mb").integer(limits.disk_mb);
  writer.key("cpu").number(cpu_of(limits, cores)).end_object();
  const jail::Enforcement& by = sandbox.enforcement();
  writer.key("enforced_by").begin_object();
  writer.key("memory").string(jail::to_string(by.memory));
  writer.key("pids").string(jail::to_string(by.processes));
  writer.key("cpu").string(jail::to_string(by.cpu)).end_object();
}

void write_network(Writer& writer, const std::vector<std::string>& rules,
                   const std::vector<SecretName>& secrets) {
  writer.key("network");
  if (rules.empty()) {
    writer.string("none");
    return;
  }
  writer.begin_object().key("allow").begin_array();
  for (const std::string& rule : rules) writer.string(rule);
  writer.end_array();
  write_secret_names(writer, secrets);
  writer.end_object();
}

std::string_view name_of(Sandbox::State state) {
  if (state == Sandbox::State::paused) return "paused";
  return state == Sandbox::State::ended ? "ended" : "running";
}

std::string_view name_of(FileEntry::Type type) {
  switch (type) {
    case FileEntry::Type::file:
      return "file";
    case FileEntry::Type::directory:
      return "directory";
    case FileEntry::Type::link:
      return "link";
    case FileEntry::Type::other:
      break;
  }
  return "other";
}

std::string mode_text(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777));
  return text.data();
}

}  // namespace

std::optional<Sandbox::State> sandbox_state_named(std::string_view name) {
  using State = Sandbox::State;
  for (const State state : {State::running, State::paused, State::ended}) {
    if (name_of(state) == name) return state;
  }
  return std::nullopt;
}

std::string_view disk_kind_of(const SandboxRequest& request) {
  return request.is_on_disk ? "directory" : "memory";
}

void write_sandbox(Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   TokenShown token) {
  const SandboxRequest& request = sandbox.request();
  const auto end = sandbox.end();
  writer.begin_object().key("id").string(sandbox.id());
  write_text_or_null(writer, "name", request.name);
  if (token != TokenShown::no) {
    const bool is_told = token == TokenShown::yes && !end;
    write_text_or_null(writer, "access_token", is_told ? sandbox.access_token().reveal() : "");
  }
  write_text_or_null(writer, "domain", sandboxes.options().ports_domain);
  // The values are read once, so that they are consistent, whatever happens meanwhile.
  const auto paused = end ? std::nullopt : sandbox.paused_since();
  const auto state =
      end ? Sandbox::State::ended : (paused ? Sandbox::State::paused : Sandbox::State::running);
  writer.key("state").string(name_of(state)).key("outcome");
  end ? write_outcome(writer, end->outcome, sandbox_limits) : static_cast<void>(writer.null());
  const bool has_template = !request.template_name.empty() && request.template_name != no_template;
  write_text_or_null(writer, "template", has_template ? request.template_name : std::string());
  writer.key("metadata").begin_object();
  for (const auto& [name, value] : sandbox.metadata()) writer.key(name).string(value);
  writer.end_object();
  writer.key("working_directory").string(request.working_directory);
  writer.key("created_at").string(json::utc_text(sandbox.created()));
  writer.key("ends_at").string(json::utc_text(sandbox.ends_at())).key("ended_at");
  end ? writer.string(json::utc_text(end->at)) : writer.null();
  writer.key("paused_at");
  paused ? writer.string(json::utc_text(*paused)) : writer.null();
  const auto idle = sandbox.idle();
  writer.key("idle_seconds");
  idle ? writer.number(std::chrono::duration<double>(*idle).count()) : writer.null();
  writer.key("on_timeout").string(request.pauses_at_its_end ? "pause" : "delete");
  writer.key("auto_resume").boolean(request.resumes_on_demand);
  writer.key("disk_kind").string(disk_kind_of(request));
  writer.key("warm").boolean(request.is_warm);
  write_limits_of(writer, sandbox, sandboxes.options().cores);
  write_network(writer, sandbox.network_rules(), sandbox.secret_names());
  write_volume_mounts(writer, request.volumes);
  write_declared_ports(writer, sandbox.id(), sandboxes.options().ports_domain, request.ports);
  writer.key("processes").integer(end ? 0 : sandbox.living()->running()).end_object();
}

void write_process_members(Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                           const LivingProcess& process) {
  const LivingProcess::State state = process.state();
  const jail::ExitReport& report = state.report;
  writer.key("pid").integer(process.pid());
  writer.key("command").begin_array();
  for (const std::string& word : process.command().argv) writer.string(word);
  writer.end_array();
  writer.key("state").string(state.has_ended ? "ended" : "running");
  const bool has_status = state.has_ended && report.ended == jail::Ended::exited;
  writer.key("exit_code");
  has_status ? writer.integer(report.exit_code) : writer.null();
  const bool has_signal = state.has_ended && !has_status && report.signal > 0;
  write_text_or_null(writer, "signal", has_signal ? signal_name(report.signal) : std::string());
  writer.key("outcome");
  if (state.has_ended) {
    write_outcome(writer, sandboxes.outcome_of_process(sandbox, process, report), sandbox_limits);
  } else {
    writer.null();
  }
  writer.key("background").boolean(process.command().in_background);
  writer.key("pty").boolean(process.command().terminal.has_value());
  writer.key("warm").boolean(process.command().is_warm);
  writer.key("started_at").string(json::utc_text(process.started_at())).key("ended_at");
  state.has_ended ? writer.string(json::utc_text(state.ended_at)) : writer.null();
  writer.key("output_from").integer(static_cast<std::int64_t>(state.output_from));
  writer.key("output_to").integer(static_cast<std::int64_t>(state.output_to));
  writer.key("cpu_time_ms");
  const auto cpu = report.usage.cpu_user + report.usage.cpu_system;
  state.has_ended ? writer.number(milliseconds(cpu)) : writer.null();
  writer.key("memory_peak_mb");
  const double peak_mb = static_cast<double>(report.usage.memory_peak_bytes) / (1u << 20);
  state.has_ended ? writer.number(std::round(peak_mb * 100) / 100) : writer.null();
}

void write_process(Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   const LivingProcess& process) {
  writer.begin_object();
  write_process_members(writer, sandboxes, sandbox, process);
  writer.end_object();
}

void write_process(Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   const LivingProcess& process, const ProcessOutput& output,
                   OutputEncoding encoding) {
  writer.begin_object();
  write_process_members(writer, sandboxes, sandbox, process);
  writer.key("stdout").json(output_json(output.out.bytes, encoding));
  writer.key("stderr").json(output_json(output.err.bytes, encoding));
  writer.key("stdout_truncated").boolean(output.out.is_truncated);
  writer.key("stderr_truncated").boolean(output.err.is_truncated);
  writer.end_object();
}

void write_file_entry(Writer& writer, const FileEntry& entry) {
  writer.begin_object().key("path").string(entry.path);
  writer.key("name").string(entry.path.substr(entry.path.rfind('/') + 1));
  writer.key("type").string(name_of(entry.type));
  writer.key("size").integer(static_cast<std::int64_t>(entry.size));
  writer.key("mode").string(mode_text(entry.mode));
  writer.key("modified_at").string(json::utc_text(entry.modified));
  write_text_or_null(writer, "target", entry.target);
  writer.end_object();
}

std::string_view name_of(FileEvent::Type type) noexcept {
  switch (type) {
    case FileEvent::Type::created:
      return "created";
    case FileEvent::Type::written:
      return "written";
    case FileEvent::Type::attributes:
      return "attributes";
    case FileEvent::Type::moved:
      return "moved";
    case FileEvent::Type::removed:
      return "removed";
    case FileEvent::Type::overflow:
      break;
  }
  return "overflow";
}

void write_file_event(Writer& writer, const FileEvent& event) {
  writer.begin_object().key("path").string(event.path);
  writer.key("directory").boolean(event.is_directory);
  if (event.type == FileEvent::Type::moved) writer.key("from").string(event.from);
  writer.end_object();
}

void write_file_list(Writer& writer, const FileList& list) {
  writer.begin_object().key("entries").begin_array();
  for (const FileEntry& entry : list.entries) write_file_entry(writer, entry);
  writer.end_array().key("truncated").boolean(list.is_truncated).end_object();
}

void write_event(Writer& writer, const SandboxEvent& event) {
  writer.begin_object().key("number").integer(static_cast<std::int64_t>(event.number));
  writer.key("at").string(json::utc_text(event.at));
  writer.key("kind").string(event.kind);
  writer.key("sandbox_id").string(event.sandbox);
  write_text_or_null(writer, "request_id", event.request);
  writer.key("detail").json(event.detail).end_object();
}

void write_usage(Writer& writer, const SandboxUsage& usage) {
  const auto integer = [&writer](std::string_view name, std::uint64_t value) {
    writer.key(name).integer(static_cast<std::int64_t>(value));
  };
  writer.begin_object().key("at").string(json::utc_text(usage.at));
  const bool is_by_cgroup = usage.source == SandboxUsage::Source::cgroup;
  writer.key("source").string(is_by_cgroup ? "cgroup" : "processes");
  integer("memory_bytes", usage.memory_bytes);
  integer("memory_peak_bytes", usage.memory_peak_bytes);
  writer.key("cpu_seconds").number(std::chrono::duration<double>(usage.cpu).count());
  integer("processes", usage.tasks);
  integer("workspace_bytes", usage.workspace.used_bytes);
  integer("tmp_bytes", usage.tmp.used_bytes);
  writer.key("complete").boolean(usage.is_complete).end_object();
}

void write_egress_use(Writer& writer, const EgressUse& use) {
  writer.begin_object();
  writer.key("connections").integer(static_cast<std::int64_t>(use.connections));
  writer.key("refused").integer(static_cast<std::int64_t>(use.refused));
  writer.key("sent_bytes").integer(static_cast<std::int64_t>(use.sent));
  writer.key("received_bytes").integer(static_cast<std::int64_t>(use.received)).end_object();
}

void write_usage_limits(Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox) {
  const SandboxLimits limits = sandbox.limits();
  const std::int64_t disk_bytes = std::int64_t{limits.disk_mb} << 20;
  const std::int64_t memory_bytes = std::int64_t{limits.memory_mb} << 20;
  writer.begin_object();
  writer.key("memory_bytes").integer(memory_bytes);
  writer.key("processes").integer(limits.processes);
  writer.key("workspace_bytes").integer(disk_bytes);
  writer.key("tmp_bytes")
      .integer(sandbox.request().is_on_disk ? std::min(disk_bytes, memory_bytes) : disk_bytes);
  writer.key("cpu").number(cpu_of(limits, sandboxes.options().cores)).end_object();
}

std::string output_json(std::string_view bytes, OutputEncoding encoding) {
  Writer writer;
  encoding == OutputEncoding::base64 ? writer.base64(bytes) : writer.string(bytes);
  return std::move(writer).take();
}

}  // namespace runtime
