#include "server/cli/sandbox/sandbox_text.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "runtime/json/members.h"
#include "runtime/llm/http_text.h"
#include "server/cli/plain_text.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/server_client.h"
#include "server/cli/sandbox/table.h"

namespace server::client {
namespace {

namespace json = runtime::json;

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t max_characters = 1000;

bool has_ended(const json::Value& object) { return json::text_member(&object, "state") == "ended"; }

bool is_true(const json::Value& object, std::string_view name) {
  const json::Value* const value = json::member(object, name);
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

// "running", or why it is not any more.
std::string state_of(const json::Value& object) {
  if (!has_ended(object)) return shown(object, "state");
  const json::Value* const outcome = json::member(object, "outcome");
  return outcome == nullptr || outcome->is_null() ? "ended" : shown(*outcome, "code");
}

std::string command_text(const json::Value& process) {
  const json::Value* const command = json::member(process, "command");
  const json::Array* const words = command == nullptr ? nullptr : command->as_array();
  if (words == nullptr) return shown(process, "command");
  std::string text;
  for (const json::Value& word : *words) {
    if (!text.empty()) text += ' ';
    if (word.as_string() != nullptr) text += *word.as_string();
  }
  return plain_line(text, max_characters);
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

// What an event says beside its kind, in the order in which it is worth most.
std::string detail_text(const json::Value& event) {
  const json::Value* const detail = json::member(event, "detail");
  if (detail == nullptr) return "";
  std::string text;
  const auto add = [&](const std::string& word) {
    if (word != "-") text += (text.empty() ? "" : " ") + word;
  };
  if (const std::string pid = shown(*detail, "pid"); pid != "-") add("pid " + pid);
  if (json::member(*detail, "command") != nullptr) add(command_text(*detail));
  add(shown(*detail, "path"));
  add(shown(*detail, "destination"));
  const std::string connections = shown(*detail, "connections");
  if (connections != "-" && connections != "1") add("(" + connections + " connections)");
  if (const std::string sent = shown(*detail, "sent_bytes"); sent != "-") {
    add("sent " + sent + " bytes, received " + shown(*detail, "received_bytes"));
  }
  if (const std::string to = shown(*detail, "move_to"); to != "-") add("-> " + to);
  add(shown(*detail, "operation"));
  if (const std::string by = shown(*detail, "by"); by != "-") add("by " + by);
  add(shown(*detail, "reason"));
  const json::Value* const outcome = json::member(*detail, "outcome");
  if (outcome != nullptr && !outcome->is_null()) {
    add(shown(*outcome, "code") + ": " + shown(*outcome, "cause"));
  }
  return text;
}

std::string time_used(const json::Value& process) {
  const json::Value* const used = json::member(process, "cpu_time_ms");
  if (used == nullptr) return "-";
  if (used->as_integer() != nullptr) {
    return json::number_text(static_cast<double>(*used->as_integer()) / 1000) + "s";
  }
  if (used->as_double() == nullptr) return "-";
  return json::number_text(std::round(*used->as_double()) / 1000) + "s";
}

std::string cores_text(const std::string& cores) {
  return cores + (cores == "1" ? " core" : " cores");
}

std::string status_of(const json::Value& process) {
  const std::string code = shown(process, "exit_code");
  return code == "-" ? shown(process, "signal") : code;
}

std::string metadata_text(const json::Value& sandbox) {
  const json::Value* const metadata = json::member(sandbox, "metadata");
  const json::Object* const members = metadata == nullptr ? nullptr : metadata->as_object();
  std::string text;
  if (members == nullptr || members->empty()) return "-";
  for (const auto& [name, value] : *members) {
    if (!text.empty()) text += ", ";
    text += plain_line(name, max_characters) + "=" + shown(*metadata, name);
  }
  return text;
}

// Without a cgroup nothing holds a sandbox to its number of processors.
bool is_slowed_down(const json::Value& sandbox) {
  const json::Value* const by = json::member(sandbox, "enforced_by");
  return by != nullptr && shown(*by, "cpu") == "cgroup";
}

std::string limits_text(const json::Value& sandbox) {
  const json::Value* const limits = json::member(sandbox, "limits");
  if (limits == nullptr) return "-";
  return shown(*limits, "memory_mb") + " MB of memory, " + shown(*limits, "processes") +
         " processes, " + shown(*limits, "disk_mb") + " MB of disk" +
         (shown(sandbox, "disk_kind") == "directory" ? " (a directory of the host)" : "") +
         (is_slowed_down(sandbox) ? ", " + shown(*limits, "cpu") + " processors" : "");
}

// Those that it declares; empty: it declares none.
std::string ports_of(const json::Value& sandbox) {
  std::string text;
  const json::Array* const ports = array_in(sandbox, "ports");
  if (ports == nullptr) return text;
  for (const json::Value& port : *ports) {
    text += (text.empty() ? "" : ", ") + shown(port, "port");
  }
  return text;
}

// "NAME:PATH", and "ro" where it is read alone, of each volume.
std::string volumes_of(const json::Value& sandbox) {
  std::string text;
  const json::Array* const volumes = array_in(sandbox, "volumes");
  if (volumes == nullptr) return text;
  for (const json::Value& volume : *volumes) {
    if (!text.empty()) text += ", ";
    text += shown(volume, "volume") + ":" + shown(volume, "path");
    if (shown(volume, "read_only") == "true") text += ":ro";
  }
  return text;
}

std::string network_text(const json::Value& sandbox) {
  const json::Value* const network = json::member(sandbox, "network");
  const json::Value* const allow = json::member(network, "allow");
  const json::Array* const rules = allow == nullptr ? nullptr : allow->as_array();
  if (rules == nullptr) return shown(sandbox, "network");
  std::string text;
  for (const json::Value& rule : *rules) {
    if (!text.empty()) text += ", ";
    if (rule.as_string() != nullptr) text += *rule.as_string();
  }
  const json::Value* const listed = json::member(network, "secrets");
  const json::Array* const secrets = listed == nullptr ? nullptr : listed->as_array();
  if (secrets != nullptr) {
    for (const json::Value& secret : *secrets) {
      text += ", secret " + shown(secret, "header") + " for " + shown(secret, "host") + ":" +
              shown(secret, "port");
    }
  }
  return plain_line(text, max_characters);
}

}  // namespace

std::string sandboxes_text(const json::Array& sandboxes, std::size_t width) {
  const std::vector<Column> columns = {{.title = "ID"},
                                       {.title = "NAME", .min_width = 8},
                                       {.title = "STATE"},
                                       {.title = "ENDS (UTC)"},
                                       {.title = "PROCESSES"},
                                       {.title = "TEMPLATE", .min_width = 8},
                                       {.title = "METADATA", .min_width = 12}};
  Rows rows;
  for (const json::Value& sandbox : sandboxes) {
    rows.push_back({shown(sandbox, "id"), shown(sandbox, "name"), state_of(sandbox),
                    shown_time(sandbox, has_ended(sandbox) ? "ended_at" : "ends_at"),
                    shown(sandbox, "processes"), shown(sandbox, "template"),
                    metadata_text(sandbox)});
  }
  return table(columns, rows, width);
}

std::string processes_text(const json::Array& processes, std::size_t width) {
  const std::vector<Column> columns = {{.title = "PID"},    {.title = "STATE"},
                                       {.title = "STATUS"}, {.title = "STARTED (UTC)"},
                                       {.title = "TIME"},   {.title = "COMMAND", .min_width = 12}};
  Rows rows;
  for (const json::Value& process : processes) {
    rows.push_back({shown(process, "pid"), state_of(process), status_of(process),
                    shown_time(process, "started_at"), time_used(process), command_text(process)});
  }
  return table(columns, rows, width);
}

std::string events_text(const json::Array& events, std::size_t width) {
  const std::vector<Column> columns = {
      {.title = "AT (UTC)"}, {.title = "EVENT"}, {.title = "WHAT", .min_width = 12}};
  Rows rows;
  for (const json::Value& event : events) {
    rows.push_back({shown_time(event, "at"), shown(event, "kind"), detail_text(event)});
  }
  return table(columns, rows, width);
}

std::string event_line(const json::Value& event) {
  const std::string begin = shown_time(event, "at") + "  ";
  const std::string kind = shown(event, "kind");
  const std::string detail = detail_text(event);
  return begin + (detail.empty() ? kind : padded(kind, 15) + "  " + detail) + "\n";
}

std::string file_event_line(std::string_view type, const json::Value& data) {
  const std::string word = padded(plain_line(type, max_characters), 10) + "  ";
  if (type == "overflow") return word + "events are lost: look at all of it again\n";
  const json::Value* const directory = json::member(data, "directory");
  const bool is_directory =
      directory != nullptr && directory->as_bool() != nullptr && *directory->as_bool();
  const std::string from = type == "moved" ? shown(data, "from") + " -> " : "";
  return word + from + shown(data, "path") + (is_directory ? "/" : "") + "\n";
}

std::string metrics_text(const json::Value& metrics) {
  const std::vector<Column> columns = {
      {.title = "WHAT"}, {.title = "NOW"}, {.title = "PEAK"}, {.title = "LIMIT"}};
  const json::Value* const limits = json::member(metrics, "limits");
  const json::Value* const now = json::member(metrics, "now");
  if (now == nullptr || now->is_null() || limits == nullptr) return "the sandbox has ended\n";
  const auto mb = [](const json::Value& object, std::string_view name) {
    const json::Value* const bytes = json::member(object, name);
    if (bytes == nullptr || bytes->as_integer() == nullptr) return std::string("-");
    const auto tenths = (*bytes->as_integer() * 10 + (1 << 19)) >> 20;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MB";
  };
  Rows rows = {
      {"memory", mb(*now, "memory_bytes"), mb(*now, "memory_peak_bytes"),
       mb(*limits, "memory_bytes")},
      {"processor", shown(*now, "cpu_seconds") + " s", "-", cores_text(shown(*limits, "cpu"))},
      {"processes", shown(*now, "processes"), "-", shown(*limits, "processes")},
      {"/workspace", mb(*now, "workspace_bytes"), "-", mb(*limits, "workspace_bytes")},
      {"/tmp", mb(*now, "tmp_bytes"), "-", mb(*limits, "tmp_bytes")}};
  if (const json::Value* const network = json::member(metrics, "network"); network != nullptr) {
    rows.push_back({"sent", mb(*network, "sent_bytes"), "-", "-"});
    rows.push_back({"received", mb(*network, "received_bytes"), "-", "-"});
  }
  return table(columns, rows, 0);
}

std::string files_text(const json::Array& entries, std::size_t width) {
  const std::vector<Column> columns = {{.title = "TYPE"},
                                       {.title = "MODE"},
                                       {.title = "SIZE"},
                                       {.title = "MODIFIED (UTC)"},
                                       {.title = "NAME", .min_width = 12}};
  Rows rows;
  for (const json::Value& entry : entries) {
    std::string name = shown(entry, "name");
    if (const std::string target = shown(entry, "target"); target != "-") name += " -> " + target;
    rows.push_back({shown(entry, "type"), shown(entry, "mode"), shown(entry, "size"),
                    shown_time(entry, "modified_at"), std::move(name)});
  }
  return table(columns, rows, width);
}

std::string port_url(const ServerAddress& address, const json::Value& sandbox, std::uint32_t port) {
  const std::string id = shown(sandbox, "id");
  const std::string number = std::to_string(port);
  const std::string token = "/?access_token=" + shown(sandbox, "access_token");
  const json::Value* const domain = json::member(sandbox, "domain");
  if (domain == nullptr || domain->is_null()) {
    return address.url + sandbox_path(id) + "/ports/" + number + token;
  }
  const std::string origin = runtime::llm::origin_of(address.url);
  const std::size_t host = origin.find("://") + 3;
  // An IPv6 address has colons of its own.
  const std::size_t bracket = origin.find(']');
  const std::size_t colon = origin.find(':', bracket == origin.npos ? host : bracket);
  const std::string own_port = colon == origin.npos ? "" : origin.substr(colon);
  return origin.substr(0, host) + number + "-" + id + "." + shown(sandbox, "domain") + own_port +
         token;
}

std::string sandbox_text(const json::Value& sandbox) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += std::string(name) + ": " + value + "\n";
  };
  add("id", shown(sandbox, "id"));
  add("name", shown(sandbox, "name"));
  add("state", state_of(sandbox));
  const json::Value* const outcome = json::member(sandbox, "outcome");
  if (outcome != nullptr && !outcome->is_null()) add("cause", shown(*outcome, "cause"));
  add("template", shown(sandbox, "template"));
  add("metadata", metadata_text(sandbox));
  add("working directory", shown(sandbox, "working_directory"));
  add("created", shown_moment(sandbox, "created_at"));
  add("ends", shown_moment(sandbox, "ends_at"));
  if (has_ended(sandbox)) add("ended", shown_moment(sandbox, "ended_at"));
  if (const std::string paused = shown_moment(sandbox, "paused_at"); paused != "-") {
    add("paused", paused);
  }
  add("idle seconds", shown(sandbox, "idle_seconds"));
  add("on timeout", shown(sandbox, "on_timeout"));
  add("limits", limits_text(sandbox));
  add("network", network_text(sandbox));
  if (const std::string volumes = volumes_of(sandbox); !volumes.empty()) add("volumes", volumes);
  if (const std::string ports = ports_of(sandbox); !ports.empty()) add("ports", ports);
  if (is_true(sandbox, "warm")) add("warm", "yes");
  add("processes", shown(sandbox, "processes"));
  return text;
}

}  // namespace server::client
