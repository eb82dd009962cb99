#include "server/cli/jobs/job_output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/json/base64.h"
#include "runtime/json/members.h"
#include "runtime/observe/uuid.h"
#include "runtime/store/job_record.h"
#include "server/api/query.h"
#include "server/cli/exit_codes.h"
#include "server/cli/jobs/job_ids.h"
#include "server/cli/plain_text.h"
#include "server/cli/progress_text.h"
#include "server/cli/sandbox/followed_events.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/show_logs.h"

namespace server::client {
namespace {

namespace json = runtime::json;

constexpr std::size_t max_error_characters = 1000;

// The two streams of a program, as members of a result and as types of events.
constexpr std::array<std::string_view, 2> stream_names = {"stdout", "stderr"};
constexpr std::array<std::string_view, 2> stream_words = {"standard output", "standard error"};
constexpr std::array<int, 2> stream_descriptors = {STDOUT_FILENO, STDERR_FILENO};

std::optional<std::string> decoded(std::string text, std::string_view encoding) {
  if (encoding != "base64") return text;
  return json::decode_base64(text);
}

// Writes what one job wrote. All functions return the exit status; 0: go on.
class JobOutput {
 public:
  JobOutput(ServerClient& client, const OutputOptions& options)
      : client_(client), options_(options) {}

  // Returns the exit status for a job that has ended, or that was followed to its end.
  int end(const json::Value& job) {
    const json::Value* const result = json::member(job, "result");
    if (result == nullptr || result->is_null()) return end_without_result(job);
    if (is_task(job)) return end_of_task(*result);
    const std::string encoding = json::text_member(result, "output_encoding");
    for (std::size_t stream = 0; stream < stream_names.size(); ++stream) {
      const auto bytes = decoded(json::text_member(result, stream_names[stream]), encoding);
      if (!bytes) return fail_unreadable();
      if (const int failed = end_of_stream(stream, *bytes); failed != 0) return failed;
    }
    return 0;
  }

  int follow() {
    constexpr LastEvent last = {.type = "complete",
                                .missing = "the server ended before the job did",
                                .refused = exit_refused};
    return client::follow(client_, {.path = job_path(options_.id)}, last,
                          [this](const FollowedEvent& event) { return take(event); });
  }

 private:
  static bool is_task(const json::Value& job) {
    return json::text_member(&job, "kind") == runtime::task_job;
  }

  int write(int fd, std::string_view bytes) {
    Signals& signals = client_.signals();
    return signals.write_all(fd, bytes) ? 0 : fail_to_write(signals, errno);
  }

  int take(const FollowedEvent& event) {
    if (event.type == "complete") return end(event.data);
    if (event.type == "started") {
      encoding_ = json::text_member(&event.data, "output_encoding");
      if (is_task(event.data)) {
        words_ = std::make_unique<ProgressText>(ProgressStyle{
            .colours = Colours::none, .detail = RunTaskOptions::Detail::all, .max_attempts = 0});
      }
      return 0;
    }
    if (words_ != nullptr) return tell_step(event);
    for (std::size_t stream = 0; stream < stream_names.size(); ++stream) {
      if (event.type != stream_names[stream]) continue;
      const std::string* const text = event.data.as_string();
      const auto bytes = text == nullptr ? std::nullopt : decoded(*text, encoding_);
      if (!bytes) return fail_unreadable();
      heard_[stream] += bytes->size();
      return write(stream_descriptors[stream], *bytes);
    }
    return 0;
  }

  int tell_step(const FollowedEvent& event) {
    const auto step = task_event_of(event);
    return step ? write(STDERR_FILENO, words_->of(*step).text) : 0;
  }

  // `bytes`: all that is kept of it. Nothing of a stream was told as it came where it was written
  // before; of a part that was not told nobody knows its place.
  int end_of_stream(std::size_t stream, std::string_view bytes) {
    if (heard_[stream] == 0) {
      if (options_.tail) bytes = last_lines(bytes, *options_.tail);
      return write(stream_descriptors[stream], bytes);
    }
    if (heard_[stream] < bytes.size()) {
      server::fail(0, std::to_string(bytes.size() - heard_[stream]) + " bytes of " +
                          std::string(stream_words[stream]) +
                          " came before or too fast; logs without -f prints all");
    }
    return 0;
  }

  int end_of_task(const json::Value& result) {
    const std::string error = json::text_member(&result, "error");
    if (!error.empty()) server::fail(0, plain_line(error, max_error_characters));
    const std::string whole = json::text_member(&result, "output");
    std::string_view output = whole;
    if (options_.tail) output = last_lines(output, *options_.tail);
    return write(STDOUT_FILENO, plain_text(output));
  }

  static int end_without_result(const json::Value& job) {
    const std::string error = json::text_member(&job, "error");
    if (!error.empty())
      server::fail(0, "the job failed: " + plain_line(error, max_error_characters));
    return 0;
  }

  ServerClient& client_;
  const OutputOptions& options_;
  std::string encoding_;
  std::array<std::size_t, 2> heard_{};
  std::unique_ptr<ProgressText> words_;  // null: the job is no task
};

// The server's answer to GET `path`; std::nullopt where it refuses with the code `missing`, and
// `why_none` says so then.
jail::Result<std::optional<std::string>> find(ServerClient& client, std::string path,
                                              std::string_view missing, std::string& why_none) {
  const auto call = client.begin({.path = std::move(path)});
  auto answer = client.finish(*call);
  if (answer) return std::optional(std::move(*answer));
  const auto* const reply =
      call->outcome() == nullptr ? nullptr : std::get_if<runtime::llm::HttpReply>(call->outcome());
  if (reply == nullptr || problem_of(*reply).code != missing) return answer.error();
  why_none = answer.error().doing;
  return std::optional<std::string>();
}

int show_sandbox_output(ServerClient& client, const OutputOptions& options) {
  return show_logs(client,
                   {.id = options.id, .pid = 0, .tail = options.tail, .follow = options.follow});
}

int show_job_output(ServerClient& client, const std::string& answer, const OutputOptions& options) {
  const auto job = json::parse(answer, "answer");
  if (!job) return fail_unreadable();
  JobOutput output(client, options);
  if (json::text_member(&*job, "status") != runtime::job_running) return output.end(*job);
  if (options.follow) return output.follow();
  server::fail(0, "the job has not ended, and its output is kept when it has; -f prints it live");
  return 0;
}

}  // namespace

std::string job_path(std::string_view id) { return "/jobs/" + percent_encoded(id); }

std::string_view last_lines(std::string_view text, std::size_t lines) {
  if (lines == 0) return {};
  std::size_t begin = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (; lines > 0; --lines) {
    const std::size_t end = begin == 0 ? text.npos : text.rfind('\n', begin - 1);
    if (end == text.npos) return text;
    begin = end;
  }
  return text.substr(begin + 1);
}

int show_output(ServerClient& client, const OutputOptions& options) {
  // The name of a sandbox may look like the id of a job, or like its beginning; its id never does.
  std::string why_none;
  if (runtime::is_uuid(options.id)) {
    const auto job = find(client, job_path(options.id), "no_such_job", why_none);
    if (!job) return refused(client, job.error());
    if (*job) return show_job_output(client, **job, options);
    if (client.get(sandbox_path(options.id))) return show_sandbox_output(client, options);
    return server::fail(exit_refused, plain_line(why_none, max_error_characters));
  }
  const auto sandbox = find(client, sandbox_path(options.id), "no_such_sandbox", why_none);
  if (sandbox && *sandbox) return show_sandbox_output(client, options);
  const auto id = whole_job_id(client, options.id);
  if (!id) return refused(client, id.error());
  if (*id != options.id) {
    const auto job = client.get(job_path(*id));
    if (!job) return refused(client, job.error());
    return show_job_output(client, *job,
                           {.id = *id, .tail = options.tail, .follow = options.follow});
  }
  if (!sandbox) return refused(client, sandbox.error());
  const jail::Error nothing{
      jail::ErrorKind::refused, "no such job or sandbox: " + plain_line(options.id, 80), 0, {}};
  return refused(client, with_fewest_characters(nothing, options.id));
}

}  // namespace server::client
