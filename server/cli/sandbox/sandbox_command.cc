#include "server/cli/sandbox/sandbox_command.h"

#include <unistd.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "runtime/json/members.h"
#include "runtime/json/writer.h"
#include "server/api/query.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/create_request.h"
#include "server/cli/sandbox/field_words.h"
#include "server/cli/sandbox/followed_events.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/listen_port.h"
#include "server/cli/sandbox/run_process.h"
#include "server/cli/sandbox/sandbox_files.h"
#include "server/cli/sandbox/sandbox_names.h"
#include "server/cli/sandbox/sandbox_text.h"
#include "server/cli/sandbox/server_client.h"
#include "server/cli/sandbox/show_answer.h"
#include "server/cli/sandbox/show_logs.h"
#include "server/cli/sandbox/table.h"
#include "server/cli/sandbox/watch_files.h"

namespace server::client {
namespace {

namespace json = runtime::json;

jail::Result<std::vector<runtime::NetworkSecret>> read_secrets(
    const std::vector<SecretOption>& options, const runtime::Environment& environment) {
  std::vector<runtime::NetworkSecret> secrets;
  for (const SecretOption& option : options) {
    auto secret = read_secret(option, environment);
    if (!secret) return secret.error();
    secrets.push_back(std::move(*secret));
  }
  return secrets;
}

int create(ServerClient& client, const CreateOptions& options,
           const runtime::Environment& environment) {
  const auto secrets = read_secrets(options.secrets, environment);
  if (!secrets) return server::fail(exit_usage, "--secret: " + secrets.error().message());
  auto answer = client.ask(
      {.method = "POST", .path = "/v1/sandboxes", .body = request_of(options, *secrets)});
  if (!answer && !options.volumes.empty()) {
    jail::Error error = answer.error();
    error.doing = refusal_in_options(std::move(error.doing), options.volumes);
    error.doing = with_sandbox_name(client, std::move(error.doing));
    answer = std::move(error);
  }
  return show(client, answer, options.format,
              [](const json::Value& sandbox) { return shown(sandbox, "id") + "\n"; });
}

int list(ServerClient& client, const ListOptions& options) {
  std::string query = "?limit=200";
  if (!options.state.empty()) query += "&state=" + percent_encoded(options.state);
  if (options.metadata) {
    const auto& [name, value] = *options.metadata;
    query += "&metadata=" + percent_encoded(name + ":" + value);
  }
  return show_pages(client, "/v1/sandboxes" + query, "sandboxes", options.format, sandboxes_text);
}

int show_events(ServerClient& client, const EventsOptions& options) {
  return show_pages(client, sandbox_path(options.id) + "/events?limit=1000", "events",
                    options.format, events_text);
}

int follow_events(ServerClient& client, const EventsOptions& options) {
  const auto show_event = [&](const FollowedEvent& event) {
    if (event.type == "end") tell_end(event.data);
    if (options.format == Format::json) return print_json(client, event.line);
    if (event.type == "event") return print(client, event_line(event.data));
    if (event.type == "lost") {
      return server::fail(0, shown(event.data, "events") + " events are not kept any more");
    }
    return 0;
  };
  return follow(client, sandbox_path(options.id) + "/events?follow=true", show_event);
}

int show_metrics(ServerClient& client, const MetricsOptions& options) {
  const auto text = [](const json::Value& metrics) { return metrics_text(metrics); };
  return show(client, client.get(sandbox_path(options.id) + "/metrics"), options.format, text);
}

int get(ServerClient& client, const GetOptions& options) {
  return show(client, client.get(sandbox_path(options.id)), options.format, sandbox_text);
}

int show_processes(ServerClient& client, const ProcessesOptions& options) {
  const auto text = [](const json::Value& answer) {
    const json::Array* const processes = array_in(answer, "processes");
    return processes_text(processes == nullptr ? json::Array() : *processes,
                          table_width(STDOUT_FILENO));
  };
  return show(client, client.get(sandbox_path(options.id) + "/processes"), options.format, text);
}

int kill(ServerClient& client, const KillOptions& options) {
  json::Writer writer;
  writer.begin_object().key("signal").integer(options.signal);
  if (options.group) writer.key("group").boolean(true);
  writer.end_object();
  const std::string process =
      sandbox_path(options.id) + "/processes/" + std::to_string(options.pid);
  const auto answer =
      client.ask({.method = "POST", .path = process + "/signal", .body = std::move(writer).take()});
  return answer ? 0 : refused(client, answer.error());
}

int show_port(ServerClient& client, const PortOptions& options) {
  if (const int none = fail_without_address(client)) return none;
  const auto answer = client.get(sandbox_path(options.id));
  return show(client, answer, Format::text, [&](const json::Value& sandbox) {
    return port_url(client.address(), sandbox, options.port) + "\n";
  });
}

int renew_token(ServerClient& client, const TokenOptions& options) {
  const auto answer =
      client.ask({.method = "POST", .path = sandbox_path(options.id) + "/token", .body = "{}"});
  return show(client, answer, Format::text,
              [](const json::Value& sandbox) { return shown(sandbox, "access_token") + "\n"; });
}

int renew(ServerClient& client, const RenewOptions& options) {
  json::Writer writer;
  writer.begin_object().key("timeout_seconds").integer(options.seconds).end_object();
  const auto answer = client.ask(
      {.method = "PATCH", .path = sandbox_path(options.id), .body = std::move(writer).take()});
  if (!answer) {
    // Here the time is a word of its own, and no option.
    constexpr std::string_view option = "--timeout: ";
    jail::Error error = answer.error();
    if (error.doing.starts_with(option)) error.doing.replace(0, option.size(), "the time: ");
    return refused(client, error);
  }
  return show(client, answer, Format::text, [](const json::Value& sandbox) {
    return "ends at " + shown_moment(sandbox, "ends_at") + "\n";
  });
}

int change(ServerClient& client, const ChangeOptions& options,
           const runtime::Environment& environment) {
  const auto secrets = read_secrets(options.secrets, environment);
  if (!secrets) return server::fail(exit_usage, "--secret: " + secrets.error().message());
  const auto answer = client.ask(
      {.method = "PATCH", .path = sandbox_path(options.id), .body = request_of(options, *secrets)});
  return show(client, answer, options.format, sandbox_text);
}

// `path` is what follows that of the sandbox. One that cannot be changed does not keep the others
// from it.
int change_all(ServerClient& client, const std::vector<std::string>& ids,
               const ServerRequest& request) {
  int exit_code = 0;
  for (const std::string& id : ids) {
    ServerRequest of_one = request;
    of_one.path = sandbox_path(id) + request.path;
    const auto answer = client.ask(std::move(of_one));
    if (answer) continue;
    exit_code = refused(client, answer.error());
    if (exit_code != exit_refused) break;
  }
  return exit_code;
}

struct Dispatch {
  ServerClient& client;
  const runtime::Environment& environment;

  int operator()(const CreateOptions& options) const {
    return create(client, options, environment);
  }
  int operator()(const ListOptions& options) const { return list(client, options); }
  int operator()(const GetOptions& options) const { return get(client, options); }
  int operator()(const ExecOptions& options) const { return exec(client, options); }
  int operator()(const ShellOptions& options) const {
    const auto terminal = environment.find("TERM");
    return shell(client, options, terminal == environment.end() ? "" : terminal->second);
  }
  int operator()(const CopyOptions& options) const { return copy(client, options); }
  int operator()(const ListFilesOptions& options) const { return list_files(client, options); }
  int operator()(const RemoveFileOptions& options) const { return remove_file(client, options); }
  int operator()(const FileUrlOptions& options) const { return show_file_url(client, options); }
  int operator()(const WatchOptions& options) const { return watch_files(client, options); }
  int operator()(const ProcessesOptions& options) const { return show_processes(client, options); }
  int operator()(const LogsOptions& options) const { return show_logs(client, options); }
  int operator()(const KillOptions& options) const { return kill(client, options); }
  int operator()(const PortOptions& options) const {
    return options.listen ? listen_for_port(client, options) : show_port(client, options);
  }
  int operator()(const TokenOptions& options) const { return renew_token(client, options); }
  int operator()(const EventsOptions& options) const {
    return options.follow ? follow_events(client, options) : show_events(client, options);
  }
  int operator()(const MetricsOptions& options) const { return show_metrics(client, options); }
  int operator()(const RenewOptions& options) const { return renew(client, options); }
  int operator()(const ChangeOptions& options) const {
    return change(client, options, environment);
  }
  int operator()(const PauseOptions& options) const {
    return change_all(client, options.ids, {.method = "POST", .path = "/pause", .body = "{}"});
  }
  int operator()(const ResumeOptions& options) const {
    return change_all(client, options.ids, {.method = "POST", .path = "/resume", .body = "{}"});
  }
  int operator()(const DeleteOptions& options) const {
    return change_all(client, options.ids, {.method = "DELETE", .path = ""});
  }
};

}  // namespace

int sandbox(const Options& options, const runtime::Environment& environment) {
  auto address = server_address(environment);
  if (!address) return server::fail(exit_usage, address.error().message());
  auto signals = Signals::block();
  if (!signals) return server::fail(exit_own_failure, signals.error().message());
  ServerClient client(std::move(*address), *signals);
  return std::visit(Dispatch{client, environment}, options);
}

}  // namespace server::client
