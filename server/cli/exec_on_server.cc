#include "server/cli/exec_on_server.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "runtime/config/text_file.h"
#include "runtime/json/base64.h"
#include "runtime/json/writer.h"
#include "runtime/service/old_answers.h"
#include "server/cli/exec_report.h"
#include "server/cli/exit_codes.h"
#include "server/cli/option_words.h"
#include "server/cli/sandbox/followed_events.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/server_client.h"

namespace server {
namespace {

namespace json = runtime::json;

// More than any server takes in one request.
constexpr std::size_t max_stdin_bytes = 16u << 20;

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

// How a stream of its events went.
struct StreamedRun {
  int exit_code = 0;  // another one: it did not come to a result, which was told
  std::optional<json::Value> result;
};

StreamedRun stream(client::ServerClient& client, const std::string& request) {
  constexpr client::LastEvent last = {.type = "complete",
                                      .missing = "the server ended before the program did",
                                      .refused = exit_own_failure,
                                      .in_words = in_options_for_server};
  client::Signals& signals = client.signals();
  StreamedRun ran;
  const auto take = [&](const client::FollowedEvent& event) {
    if (event.type == "execution_result") ran.result = event.data;
    const bool is_error = event.type == "stderr";
    if (!is_error && event.type != "stdout") return 0;
    const std::string* const text = event.data.as_string();
    const auto bytes = text == nullptr ? std::nullopt : json::decode_base64(*text);
    if (!bytes) return client::fail_unreadable();
    const int fd = is_error ? STDERR_FILENO : STDOUT_FILENO;
    return signals.write_all(fd, *bytes) ? 0 : client::fail_to_write(signals, errno);
  };
  ran.exit_code =
      client::follow(client, {.method = "POST", .path = "/execute", .body = request}, last, take);
  if (ran.exit_code == 0 && !ran.result) ran.exit_code = client::fail_unreadable();
  return ran;
}

int run_whole(client::ServerClient& client, const std::string& request,
              const ArtifactDirectories& directories) {
  const auto answer = client.ask({.method = "POST", .path = "/execute", .body = request});
  if (!answer) {
    jail::Error error = answer.error();
    error.doing = in_options_for_server(error.doing);
    return client::fail(error, client.signals(), exit_own_failure);
  }
  const auto result = json::parse(*answer, "answer");
  if (!result || result->as_object() == nullptr) return client::fail_unreadable();
  return report_run(runtime::result_of_answer(*result), *answer, directories);
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
  auto address = client::server_address(environment, options.server, "--server");
  if (!address) return fail(exit_usage, address.error().message());
  // While signals end us by themselves: nothing was begun yet.
  const auto input = read_input(program.input_fd);
  if (!input) return fail(exit_usage, input.error().message());
  if (const char* const what = not_utf8(options, program, *input)) {
    return fail(exit_usage, std::string("--server: ") + what +
                                " is not UTF-8, so that it cannot be sent; --file takes any bytes");
  }
  auto signals = client::Signals::block();
  if (!signals) return fail(exit_own_failure, signals.error().message());
  client::ServerClient client(std::move(*address), *signals);
  const std::string request = execute_request(options, program, *input);
  if (options.mode == ExecOptions::Mode::json) return run_whole(client, request, directories);
  const StreamedRun ran = stream(client, request);
  if (ran.exit_code != 0) return ran.exit_code;
  return report_run(runtime::result_of_answer(*ran.result), {}, directories);
}

}  // namespace server
