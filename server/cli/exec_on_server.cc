#include "server/cli/exec_on_server.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "runtime/config/text_file.h"
#include "runtime/json/base64.h"
#include "runtime/json/members.h"
#include "runtime/json/writer.h"
#include "runtime/llm/wire_json.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/service/old_answers.h"
#include "server/api/query.h"
#include "server/cli/exec_report.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/followed_events.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/passed_signal.h"
#include "server/cli/sandbox/server_client.h"

namespace server {
namespace {

namespace json = runtime::json;

// More than any server takes in one request.
constexpr std::size_t max_stdin_bytes = 16u << 20;

// Whether the program names its input. It may read it in another way too, and then meets its end.
bool names_its_input(const ProgramForServer& program) {
  constexpr std::string_view of_shells[] = {"read ", "cat", "stdin"};
  constexpr std::string_view of_others[] = {"input(", "stdin", "readline"};
  const auto names = [&](std::string_view word) {
    return program.code.find(word) != std::string::npos;
  };
  return program.language == runtime::Language::bash ? std::ranges::any_of(of_shells, names)
                                                     : std::ranges::any_of(of_others, names);
}

// All that the program reads, which is sent with it. A terminal is no input.
jail::Result<std::string> read_input(int fd) {
  if (fd < 0 || ::isatty(fd) == 1) return std::string();
  return runtime::read_text(fd, "standard input", max_stdin_bytes);
}

// What is not UTF-8, which JSON cannot hold; null: all of it is.
const char* not_utf8(const ExecOptions& options, const ProgramForServer& program,
                     const std::string& input) {
  if (!json::is_utf8(program.code)) return "the program";
  if (!json::is_utf8(input)) return "standard input";
  for (const std::string& word : options.args) {
    if (!json::is_utf8(word)) return "an argument of the program";
  }
  for (const auto& [name, value] : options.env) {
    if (!json::is_utf8(name) || !json::is_utf8(value)) return "a variable of --env";
  }
  for (const runtime::InputFile& file : program.files) {
    if (!json::is_utf8(file.path)) return "the name of a --file";
  }
  return nullptr;
}

void write_list(json::Writer& writer, std::string_view name,
                const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  writer.key(name).begin_array();
  for (const std::string& text : texts) writer.string(text);
  writer.end_array();
}

void write_network(json::Writer& writer, const std::vector<std::string>& rules) {
  if (rules.empty()) return;
  writer.key("network").begin_object();
  write_list(writer, "allow", rules);
  writer.end_object();
}

// A program on the server, of which is told as it runs.
class RemoteProgram {
 public:
  RemoteProgram(client::ServerClient& client, ExecOptions::Mode mode)
      : client_(client),
        passes_output_(mode == ExecOptions::Mode::stream),
        signal_(client, client::PassedSignal::To::process) {}

  // The exit status; 0: there is a result.
  int run(const std::string& request) {
    constexpr client::LastEvent last = {.type = "complete",
                                        .missing = "the server ended before the program did",
                                        .refused = exit_own_failure};
    const int failed = client::follow(
        client_, {.method = "POST", .path = "/execute", .body = request}, last,
        [this](const client::FollowedEvent& event) { return take(event); },
        [this] { pass_signal(); });
    return failed != 0 || result_ ? failed : client::fail_unreadable();
  }

  const json::Value& result() const { return *result_; }

 private:
  int take(const client::FollowedEvent& event) {
    if (event.type == "started") job_ = json::text_member(&event.data, "job_id");
    if (event.type == "execution_result" && event.data.as_object() != nullptr) result_ = event.data;
    const bool is_error = event.type == "stderr";
    if (!passes_output_ || (!is_error && event.type != "stdout")) return 0;
    const std::string* const text = event.data.as_string();
    const auto bytes = text == nullptr ? std::nullopt : json::decode_base64(*text);
    if (!bytes) return client::fail_unreadable();
    const int fd = is_error ? STDERR_FILENO : STDOUT_FILENO;
    client::Signals& signals = client_.signals();
    return signals.write_all(fd, *bytes) ? 0 : client::fail_to_write(signals, errno);
  }

  // What has not started is cancelled, since its number is not known yet.
  void pass_signal() {
    if (!job_.empty()) {
      signal_.pass("/jobs/" + percent_encoded(job_) + "/signal");
    } else if (client_.signals().first() != 0) {
      client_.signals().return_lent();
    }
  }

  client::ServerClient& client_;
  const bool passes_output_;
  client::PassedSignal signal_;
  std::string job_;
  std::optional<json::Value> result_;
};

std::string json_text(const json::Value& value) {
  json::Writer writer;
  runtime::llm::write_value(writer, value);
  return std::move(writer).take();
}

}  // namespace

void write_program_options(json::Writer& writer, const ProgramOptions& options,
                           const std::vector<runtime::InputFile>& files,
                           const std::vector<std::string>& artifacts) {
  if (!files.empty()) {
    writer.key("files").begin_object();
    for (const runtime::InputFile& file : files) {
      writer.key(file.path).begin_object().key("base64").base64(file.content).end_object();
    }
    writer.end_object();
  }
  write_list(writer, "artifacts", artifacts);
  if (options.timeout) {
    writer.key("timeout_seconds").number(static_cast<double>(options.timeout->count()) / 1000);
  }
  if (options.memory_limit_mb) writer.key("memory_limit_mb").integer(*options.memory_limit_mb);
}

std::string execute_request(const ExecOptions& options, const ProgramForServer& program,
                            const std::string& input) {
  json::Writer writer;
  writer.begin_object().key("code").string(program.code);
  writer.key("language").string(runtime::name_of(program.language));
  if (!input.empty()) writer.key("stdin").string(input);
  write_list(writer, "args", options.args);
  if (!options.env.empty()) {
    writer.key("env");
    client::write_texts(writer, options.env);
  }
  write_program_options(writer, options.program, program.files, globs_of(options.artifacts));
  if (!options.template_name.empty()) writer.key("template").string(options.template_name);
  write_network(writer, options.allow);
  // Bytes go through as they are; of JSON a person may read the text.
  const auto encoding = options.mode == ExecOptions::Mode::json ? runtime::OutputEncoding::utf8
                                                                : runtime::OutputEncoding::base64;
  writer.key("output_encoding").string(runtime::name_of(encoding)).end_object();
  return std::move(writer).take();
}

int exec_on_server(const ExecOptions& options, ProgramForServer program,
                   const ArtifactDirectories& directories,
                   const runtime::Environment& environment) {
  std::size_t bytes = 0;
  for (const runtime::InputFile& file : program.files) bytes += file.content.size();
  if (const std::size_t most = runtime::InputFileLimits().total_bytes; bytes > most) {
    return fail(exit_usage, "--file: expected at most " + std::to_string(most >> 20) +
                                " MiB together, which is what a server takes; sandbox cp copies "
                                "more into a sandbox");
  }
  auto address = client::server_address(environment, options.server, "--server");
  if (!address) return fail(exit_usage, address.error().message());
  // While signals end us by themselves: nothing was begun yet.
  const auto input = read_input(program.input_fd);
  if (!input) return fail(exit_usage, input.error().message());
  if (const char* const what = not_utf8(options, program, *input)) {
    return fail(exit_usage, std::string("--server: ") + what +
                                " is not UTF-8, so that it cannot be sent; --file takes any bytes");
  }
  if (program.input_fd >= 0 && ::isatty(program.input_fd) == 1 && names_its_input(program)) {
    fail(0,
         "the program's input is empty: what is typed here does not go to a server; pipe it in, or "
         "use agent-sandbox sandbox exec");
  }
  auto signals = client::Signals::block();
  if (!signals) return fail(exit_own_failure, signals.error().message());
  client::ServerClient client(std::move(*address), *signals);
  const std::string request = execute_request(options, program, *input);
  RemoteProgram remote(client, options.mode);
  if (const int failed = remote.run(request); failed != 0) return failed;
  const runtime::RunResult result = runtime::result_of_answer(remote.result());
  const std::string json =
      options.mode == ExecOptions::Mode::json ? json_text(remote.result()) : std::string();
  if (const int signal = signals->first(); signal != 0) {
    // What the program has left when it ended by itself is kept.
    keep_results(result, json, directories);
    return exit_signal_base + signal;
  }
  if (options.shows_usage) tell_usage(result);
  return report_run(result, json, directories);
}

}  // namespace server
