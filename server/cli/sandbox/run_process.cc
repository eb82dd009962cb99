#include "server/cli/sandbox/run_process.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/json/members.h"
#include "runtime/json/writer.h"
#include "runtime/llm/wire_json.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/attached_process.h"
#include "server/cli/sandbox/inside_path.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/raw_terminal.h"
#include "server/cli/sandbox/refused_process.h"

namespace server::client {
namespace {

namespace json = runtime::json;

using Stream = ProcessEvents::Stream;

constexpr int exit_not_found = 127;  // as shells say it
constexpr std::size_t max_json_output = 1u << 20;

void write_words(json::Writer& writer, std::string_view name,
                 const std::vector<std::string>& words) {
  writer.key(name).begin_array();
  for (const std::string& word : words) writer.string(word);
  writer.end_array();
}

// What `exec` and `shell` say alike.
void write_place(json::Writer& writer, const NamedTexts& env,
                 const std::string& working_directory) {
  if (!env.empty()) {
    writer.key("env");
    write_texts(writer, env);
  }
  if (!working_directory.empty()) writer.key("working_directory").string(working_directory);
}

void write_size(json::Writer& writer, TerminalSize size) {
  writer.begin_object().key("columns").integer(size.columns).key("rows").integer(size.rows);
  writer.end_object();
}

// Hands output on as it comes.
class OutputPipes {
 public:
  explicit OutputPipes(Signals& signals) : signals_(signals) {}

  bool operator()(Stream stream, std::string_view bytes) {
    const int fd = stream == Stream::standard_output ? STDOUT_FILENO : STDERR_FILENO;
    if (signals_.write_all(fd, bytes)) return true;
    error_ = errno;
    return false;
  }

  // 0: all was written.
  int error() const { return error_; }

 private:
  Signals& signals_;
  int error_ = 0;
};

struct KeptOutput {
  std::string text;
  bool truncated = false;

  void add(std::string_view more) {
    if (truncated) return;
    const std::string_view fits = json::utf8_prefix(more, max_json_output - text.size());
    truncated = fits.size() < more.size();
    text += fits;
  }
};

// Whether words are there that mean something to a shell alone.
bool is_for_a_shell(const std::vector<std::string>& command) {
  return std::ranges::any_of(
      command, [](const std::string& word) { return word.find_first_of(" |&;<>$") != word.npos; });
}

// The exit status for a process of which no end is known.
int fail_attached(const ServerClient& client, const AttachedProcess& process,
                  const std::vector<std::string>& command, jail::Error error, int write_error) {
  if (write_error != 0) return fail_to_write(client.signals(), write_error);
  const auto& problem = process.problem();
  const bool is_missing = problem && problem->code == "command_not_found";
  if (is_missing && is_for_a_shell(command)) {
    error.hint = "no shell reads this command; give it to one: -- bash -c 'COMMAND'";
  }
  return fail(error, client.signals(), is_missing ? exit_not_found : exit_own_failure);
}

int report(const Signals& signals, const json::Value& process) {
  if (signals.first() != 0) return exit_signal_base + signals.first();
  if (const std::string fate = fate_of(process); !fate.empty()) {
    server::fail(0, fate);
  }
  return exit_code_of(process);
}

// What standard input has right away; nothing: it has ended already.
std::optional<std::string> begin_input() {
  pollfd entry{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&entry, 1, 0) <= 0) return std::string();
  std::array<char, 64u << 10> bytes;
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return std::string();
  if (count <= 0) return std::nullopt;
  return std::string(bytes.data(), static_cast<std::size_t>(count));
}

int begin_in_background(ServerClient& client, const ExecOptions& options) {
  const auto answer = client.ask({.method = "POST",
                                  .path = sandbox_path(options.id) + "/processes",
                                  .body = request_of(options, Input::none, Encoding::utf8)});
  if (!answer) return fail(answer.error(), client.signals(), exit_own_failure);
  if (options.format == Format::json) return print_json(client, *answer);
  const auto process = json::parse(*answer, "answer");
  const json::Value* const pid = process ? json::member(*process, "pid") : nullptr;
  if (pid == nullptr || pid->as_integer() == nullptr) return fail_unreadable();
  return print(client, std::to_string(*pid->as_integer()) + "\n");
}

int print_whole(ServerClient& client, const json::Value& process, const KeptOutput& output,
                const KeptOutput& errors) {
  json::Writer writer;
  writer.begin_object();
  for (const auto& [name, value] : *process.as_object()) {
    writer.key(name);
    runtime::llm::write_value(writer, value);
  }
  writer.key("stdout").string(output.text).key("stderr").string(errors.text);
  writer.key("stdout_truncated").boolean(output.truncated);
  writer.key("stderr_truncated").boolean(errors.truncated);
  writer.end_object();
  if (const int failed = print_json(client, std::move(writer).take()); failed != 0) return failed;
  const int signal = client.signals().first();
  return signal != 0 ? exit_signal_base + signal : exit_code_of(process);
}

}  // namespace

std::string request_of(const ExecOptions& options, Input input, Encoding encoding) {
  json::Writer writer;
  writer.begin_object();
  if (options.code) writer.key("code").string(*options.code);
  if (!options.language.empty()) writer.key("language").string(options.language);
  if (!options.code || !options.command.empty()) {
    write_words(writer, options.code ? "args" : "command", options.command);
  }
  write_place(writer, options.env, options.working_directory);
  if (options.timeout_seconds) writer.key("timeout_seconds").number(*options.timeout_seconds);
  if (options.background) writer.key("background").boolean(true);
  if (input == Input::stays_open) writer.key("keep_stdin_open").boolean(true);
  writer.key("output_encoding").string(name_of(encoding)).end_object();
  return std::move(writer).take();
}

int exec(ServerClient& client, ExecOptions options) {
  auto directory = directory_inside(client, options.id, options.working_directory);
  if (!directory) return fail(directory.error(), client.signals(), exit_own_failure);
  options.working_directory = std::move(*directory);
  if (options.background) return begin_in_background(client, options);
  auto first_input = options.reads_input ? begin_input() : std::nullopt;
  const auto input = first_input ? Input::stays_open : Input::none;
  const bool is_json = options.format == Format::json;
  OutputPipes pipes(client.signals());
  KeptOutput output;
  KeptOutput errors;
  Tail error_tail;
  AttachedOptions attached;
  attached.id = options.id;
  attached.encoding = is_json ? Encoding::utf8 : Encoding::base64;
  attached.request = request_of(options, input, attached.encoding);
  if (first_input) attached.input_fd = STDIN_FILENO;
  attached.passes_signal = true;
  attached.first_input = std::move(first_input).value_or("");
  attached.listener.on_output = [&](Stream stream, std::string_view bytes) {
    if (!is_json && stream == Stream::standard_error) error_tail.add(bytes);
    if (!is_json) return pipes(stream, bytes);
    (stream == Stream::standard_output ? output : errors).add(bytes);
    return true;
  };
  AttachedProcess process(client, std::move(attached));
  const auto ended = process.run();
  if (!ended) return fail_attached(client, process, options.command, ended.error(), pipes.error());
  if (is_json && ended->as_object() != nullptr) return print_whole(client, *ended, output, errors);
  const int exit_code = report(client.signals(), *ended);
  if (exit_code == 0 || client.signals().first() != 0) return exit_code;
  const bool has_large_file = exit_code == exit_signal_base + SIGXFSZ;
  if (has_large_file) error_tail.add("File too large");
  if (has_large_file || fate_of(*ended).empty()) {
    tell_refused(client, options.id, *ended, error_tail.text());
  }
  return exit_code;
}

int shell(ServerClient& client, const ShellOptions& options, const std::string& terminal_name) {
  if (::isatty(STDIN_FILENO) != 1) {
    return server::fail(exit_usage,
                        "sandbox shell: standard input is no terminal; sandbox exec needs none");
  }
  const auto directory = directory_inside(client, options.id, options.working_directory);
  if (!directory) return fail(directory.error(), client.signals(), exit_own_failure);
  NamedTexts env;
  if (!terminal_name.empty()) env.emplace_back("TERM", terminal_name);
  env.insert(env.end(), options.env.begin(), options.env.end());
  json::Writer writer;
  writer.begin_object();
  write_words(writer, "command", options.command);
  write_place(writer, env, *directory);
  writer.key("pty");
  write_size(writer, terminal_size(STDIN_FILENO));
  writer.key("output_encoding").string("base64").end_object();

  OutputPipes pipes(client.signals());
  AttachedOptions attached;
  attached.id = options.id;
  attached.request = std::move(writer).take();
  attached.input_fd = STDIN_FILENO;
  attached.size = [] {
    json::Writer size;
    write_size(size, terminal_size(STDIN_FILENO));
    return std::move(size).take();
  };
  attached.listener.on_output = std::ref(pipes);
  AttachedProcess process(client, std::move(attached));
  auto terminal = RawTerminal::enter(STDIN_FILENO);
  if (!terminal) return server::fail(exit_own_failure, terminal.error().message());
  const auto ended = process.run();
  terminal->leave();
  if (ended) return report(client.signals(), *ended);
  // It may stand in the middle of a line.
  if (process.has_started()) std::fputs("\n", stderr);
  return fail_attached(client, process, options.command, ended.error(), pipes.error());
}

}  // namespace server::client
