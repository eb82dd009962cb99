#include "server/cli/run_on_server.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/llm/wire_json.h"
#include "runtime/service/old_answers.h"
#include "server/cli/exec_on_server.h"
#include "server/cli/exit_codes.h"
#include "server/cli/plain_text.h"
#include "server/cli/progress_text.h"
#include "server/cli/sandbox/followed_events.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/server_client.h"
#include "server/cli/task_trace.h"
#include "server/cli/terminal.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace json = runtime::json;

// What is not UTF-8, which JSON cannot hold; null: all of it is.
const char* not_utf8_in(const agent::TaskRequest& brief) {
  if (!json::is_utf8(brief.task)) return "the task";
  if (!json::is_utf8(brief.tests)) return "the file of --tests";
  for (const runtime::InputFile& file : brief.files) {
    if (!json::is_utf8(file.path)) return "the name of a --file";
  }
  return nullptr;
}

std::string task_request(const RunTaskOptions& options, const agent::TaskRequest& brief) {
  json::Writer writer;
  writer.begin_object().key("task").string(brief.task);
  if (options.max_attempts) writer.key("max_attempts").integer(*options.max_attempts);
  writer.key("candidates").integer(options.candidates);
  if (!brief.tests.empty()) writer.key("tests").string(brief.tests);
  if (options.tests_by_model == agent::TestsByModel::first) {
    writer.key("write_tests").boolean(true);
  }
  if (options.team == agent::Team::swarm) writer.key("swarm").boolean(true);
  if (options.lessons == agent::Lessons::off) writer.key("lessons").boolean(false);
  if (!options.provider.empty()) writer.key("provider").string(options.provider);
  if (!options.model.empty()) writer.key("model").string(options.model);
  write_program_options(writer, options.program, brief.files, brief.artifacts);
  writer.end_object();
  return std::move(writer).take();
}

// How the task goes, told as it happens.
class RemoteTask {
 public:
  RemoteTask(client::ServerClient& client, const RunTaskOptions& options, Colours colours)
      : client_(client),
        is_quiet_(options.output == RunTaskOptions::Output::json &&
                  options.detail == RunTaskOptions::Detail::usual),
        words_({.colours = colours,
                .detail = options.detail,
                .max_attempts = options.max_attempts.value_or(0)}) {}

  // The exit status; 0: there is a result.
  int follow(const std::string& request, TaskTrace& trace) {
    constexpr client::LastEvent last = {.type = "complete",
                                        .missing = "the server ended before the task did",
                                        .refused = exit_own_failure};
    const int failed =
        client::follow(client_, {.method = "POST", .path = "/execute", .body = request}, last,
                       [&](const client::FollowedEvent& event) { return take(event, trace); });
    return failed != 0 || answer_ ? failed : client::fail_unreadable();
  }

  agent::TaskResult result() const { return runtime::result_of_task_answer(*answer_); }
  std::string json_text() const {
    json::Writer writer;
    runtime::llm::write_value(writer, *answer_);
    return std::move(writer).take();
  }
  int tell_end() { return is_quiet_ ? 0 : write(STDERR_FILENO, words_.end_of(result())); }
  int write(int fd, std::string_view bytes) {
    client::Signals& signals = client_.signals();
    return signals.write_all(fd, bytes) ? 0 : client::fail_to_write(signals, errno);
  }

 private:
  int take(const client::FollowedEvent& event, TaskTrace& trace) {
    if (event.type == "complete") answer_ = event.data;
    const auto step = client::task_event_of(event);
    if (!step) return 0;
    trace.add(*step);
    return is_quiet_ ? 0 : write(STDERR_FILENO, words_.of(*step).text);
  }

  client::ServerClient& client_;
  const bool is_quiet_;
  ProgressText words_;
  std::optional<json::Value> answer_;
};

}  // namespace

int run_on_server(const RunTaskOptions& options, const agent::TaskRequest& brief,
                  const ArtifactDirectories& directories, int trace_fd,
                  const runtime::Environment& environment) {
  auto address = client::server_address(environment, options.server, "--server");
  if (!address) return fail(exit_usage, address.error().message());
  if (const char* const what = not_utf8_in(brief)) {
    return fail(exit_usage,
                std::string("--server: ") + what + " is not UTF-8, so that it cannot be sent");
  }
  auto signals = client::Signals::block();
  if (!signals) return fail(exit_own_failure, signals.error().message());
  client::ServerClient client(std::move(*address), *signals);
  TaskTrace trace(brief.task);
  RemoteTask task(client, options, colours_on(STDERR_FILENO, environment));
  if (const int failed = task.follow(task_request(options, brief), trace); failed != 0) {
    return failed;
  }
  const agent::TaskResult result = task.result();
  if (const int failed = task.tell_end(); failed != 0) return failed;
  if (trace_fd >= 0 && !signals->write_all(trace_fd, trace.page(result))) {
    return client::fail_to_write(*signals, errno);
  }
  std::string text;
  if (options.output == RunTaskOptions::Output::json) {
    text = json_for_standard_output(task.json_text()) + "\n";
  } else if (result.success()) {
    text = plain_text(result.output);
    if (!text.empty() && !text.ends_with('\n') && ::isatty(STDOUT_FILENO) == 1) text += "\n";
  }
  if (const int failed = task.write(STDOUT_FILENO, text); failed != 0) return failed;
  if (!result.success()) return exit_not_solved;
  return keep_artifacts(result.artifacts, directories) ? 0 : exit_own_failure;
}

}  // namespace server
