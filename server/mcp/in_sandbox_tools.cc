#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/service/common_fields.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/process_output.h"
#include "runtime/service/sandbox_json.h"
#include "server/mcp/tool.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Field;
using runtime::OutputEncoding;
using runtime::Refusal;
using runtime::RequestField;
using runtime::RequestRules;
using runtime::Sandboxes;
using runtime::Scope;
using runtime::json::Object;
using runtime::json::Writer;

constexpr std::size_t max_read_bytes = 256u << 10;

// The arguments of tools that work in a sandbox, in addition to those for starting a process.
struct SandboxArguments {
  std::string sandbox;
  std::string path = "/workspace";
  std::string content;
  OutputEncoding encoding = OutputEncoding::utf8;
  std::uint32_t depth = 1;
};

constexpr RequestField<SandboxArguments> sandbox_field = {
    {.name = sandbox_argument,
     .type = Field::Type::text,
     .min = 1,
     .max = 64,
     .unit = "bytes",
     .description = "The id or name of a sandbox, from create_sandbox or list_sandboxes.",
     .is_required = true},
    runtime::read_text<&SandboxArguments::sandbox>};

constexpr RequestField<SandboxArguments> path_field = {
    {.name = "path",
     .type = Field::Type::text,
     .min = 1,
     .max = runtime::max_path_bytes,
     .unit = "bytes",
     .description = "An absolute path in the sandbox.",
     .is_required = true},
    runtime::read_text<&SandboxArguments::path>};

constexpr RequestField<SandboxArguments> encoding_field = {
    {.name = "encoding",
     .type = Field::Type::text,
     .words = runtime::encoding_words,
     .default_json = R"("utf-8")",
     .description = "How the content stands here: as text, or as base64."},
    runtime::read_word<&SandboxArguments::encoding, runtime::encoding_of>};

constexpr RequestField<SandboxArguments> of_a_sandbox[] = {sandbox_field};
constexpr RequestField<SandboxArguments> of_reading[] = {sandbox_field, path_field, encoding_field};
constexpr RequestField<SandboxArguments> of_writing[] = {
    sandbox_field,
    path_field,
    {{.name = "content", .type = Field::Type::text, .is_required = true},
     runtime::read_text<&SandboxArguments::content>},
    encoding_field};
constexpr RequestField<SandboxArguments> of_listing[] = {
    sandbox_field,
    {{.name = "path",
      .type = Field::Type::text,
      .min = 1,
      .max = runtime::max_path_bytes,
      .unit = "bytes",
      .default_json = R"("/workspace")"},
     runtime::read_text<&SandboxArguments::path>},
    {{.name = "depth",
      .type = Field::Type::integer,
      .min = 1,
      .max = runtime::max_list_depth,
      .default_json = "1",
      .description = "How many levels of directories."},
     runtime::read_integer<&SandboxArguments::depth>}};

using ProcessFields = std::vector<RequestField<runtime::ProcessRequest>>;

// The fields of a process that make sense where its end is waited for. The first name is required.
ProcessFields process_fields_of(std::initializer_list<std::string_view> names) {
  ProcessFields chosen;
  for (const std::string_view name : names) {
    chosen.push_back(*runtime::find_row(runtime::process_fields(), name));
  }
  chosen.front().field.is_required = true;
  return chosen;
}

const ProcessFields& command_fields() {
  static const ProcessFields fields =
      process_fields_of({"command", "env", "working_directory", "stdin", "timeout_seconds"});
  return fields;
}

const ProcessFields& code_fields() {
  static const ProcessFields fields = process_fields_of(
      {"code", "language", "args", "env", "working_directory", "stdin", "timeout_seconds"});
  return fields;
}

// The same fields without the sandbox, where it is known.
std::span<const RequestField<SandboxArguments>> without_sandbox(
    std::span<const RequestField<SandboxArguments>> fields) {
  return fields.subspan(1);
}

// Reads the arguments of a tool that works in a sandbox. `fields` must begin with that sandbox.
std::optional<Refusal> read_for_sandbox(const ToolContext& context, const Object& arguments,
                                        std::span<const RequestField<SandboxArguments>> fields,
                                        SandboxArguments& given) {
  given.sandbox = context.sandbox;
  const auto known = context.sandbox.empty() ? fields : without_sandbox(fields);
  return runtime::read_fields(arguments, known, context.rules, given);
}

// Returns the named sandbox, which must be alive and running.
std::variant<Sandboxes::Found, ToolResult> sandbox_of(const ToolContext& context,
                                                      std::string_view name) {
  if (name.empty()) return failed("sandbox: expected the id or name of one");
  const auto found = context.services.sandboxes->find_active(context.caller.principal, name);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return failed(*refusal);
  return std::get<Sandboxes::Found>(found);
}

// A tool's arguments, and the living sandbox that they name.
struct Asked {
  SandboxArguments given;
  Sandboxes::Found sandbox;
};

std::variant<Asked, ToolResult> asked(const ToolContext& context, const Object& arguments,
                                      std::span<const RequestField<SandboxArguments>> fields) {
  SandboxArguments given;
  if (const auto refusal = read_for_sandbox(context, arguments, fields, given)) {
    return failed(*refusal);
  }
  auto found = sandbox_of(context, given.sandbox);
  if (auto* failure = std::get_if<ToolResult>(&found)) return std::move(*failure);
  return Asked{std::move(given), std::get<Sandboxes::Found>(found)};
}

awaitable<ToolResult> get_sandbox(ToolContext context, Object arguments) {
  SandboxArguments given;
  if (const auto refusal = read_for_sandbox(context, arguments, of_a_sandbox, given)) {
    co_return failed(*refusal);
  }
  const auto found = context.services.sandboxes->find(context.caller.principal, given.sandbox);
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return failed(*refusal);
  Writer writer;
  runtime::write_sandbox(writer, *context.services.sandboxes, *std::get<Sandboxes::Found>(found));
  co_return done(std::move(writer));
}

awaitable<ToolResult> kill_sandbox(ToolContext context, Object arguments) {
  SandboxArguments given;
  if (const auto refusal = read_for_sandbox(context, arguments, of_a_sandbox, given)) {
    co_return failed(*refusal);
  }
  const auto found =
      context.services.sandboxes->find_living(context.caller.principal, given.sandbox);
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return failed(*refusal);
  const auto sandbox = std::get<Sandboxes::Found>(found);
  co_await context.services.sandboxes->remove(context.caller, sandbox);
  Writer writer;
  runtime::write_sandbox(writer, *context.services.sandboxes, *sandbox);
  co_return done(std::move(writer));
}

template <const ProcessFields& (*fields)()>
awaitable<ToolResult> run_process(ToolContext context, Object arguments) {
  std::string name = context.sandbox;
  if (const auto given = arguments.find("sandbox"); given != arguments.end() && name.empty()) {
    if (given->second.as_string() == nullptr) co_return failed("sandbox: expected a string");
    name = *given->second.as_string();
    arguments.erase(given);
  }
  runtime::ProcessRequest request;
  auto wrong =
      runtime::read_fields<runtime::ProcessRequest>(arguments, fields(), context.rules, request);
  if (!wrong) wrong = runtime::check_process(request);
  if (wrong) co_return failed(*wrong);
  auto found = sandbox_of(context, name);
  if (auto* failure = std::get_if<ToolResult>(&found)) co_return std::move(*failure);
  const auto sandbox = std::get<Sandboxes::Found>(found);
  const runtime::LivingSandbox::Use use(sandbox->living());
  const auto started = co_await context.services.sandboxes->start_process(
      context.caller, sandbox, std::move(request), context.cancel);
  if (const auto* refusal = std::get_if<Refusal>(&started)) co_return failed(*refusal);
  const auto process = std::get<std::shared_ptr<runtime::LivingProcess>>(started);
  const auto output = co_await runtime::output_to_the_end(process, context.cancel, max_read_bytes);
  if (!output.has_ended)
    co_return failed(Refusal{.code = runtime::RefusalCode::stopping, .detail = "cancelled"});
  co_await Sandboxes::settle(sandbox, *process);
  Writer writer;
  runtime::write_process(writer, *context.services.sandboxes, *sandbox, *process, output,
                         OutputEncoding::utf8);
  co_return done(std::move(writer));
}

ToolResult failed_file(const jail::Error& error, const runtime::Sandbox& sandbox) {
  return failed(Sandboxes::refusal_of_file(error, sandbox));
}

awaitable<ToolResult> read_file(ToolContext context, Object arguments) {
  auto call = asked(context, arguments, of_reading);
  if (auto* failure = std::get_if<ToolResult>(&call)) co_return std::move(*failure);
  const auto& given = std::get<Asked>(call).given;
  const auto& sandbox = std::get<Asked>(call).sandbox;
  auto open = [files = sandbox->files(), path = given.path] { return files.open_to_read(path); };
  const auto file = co_await context.services.sandboxes->do_file_work(*sandbox, std::move(open));
  if (!file) co_return failed_file(file.error(), *sandbox);
  context.services.sandboxes->note_file(context.caller, *sandbox,
                                        runtime::SandboxEventKind::file_read, given.path);
  struct stat status {};
  ::fstat(file->get(), &status);
  std::string content(std::min<std::size_t>(max_read_bytes, status.st_size), '\0');
  std::size_t had = 0;
  while (had < content.size()) {
    const ssize_t got = ::read(file->get(), content.data() + had, content.size() - had);
    if (got <= 0) break;
    had += static_cast<std::size_t>(got);
  }
  content.resize(had);
  Writer writer;
  writer.begin_object().key("path").string(given.path);
  writer.key("size").integer(status.st_size);
  writer.key("content").json(runtime::output_json(content, given.encoding));
  writer.key("truncated").boolean(static_cast<std::uint64_t>(status.st_size) > had).end_object();
  co_return done(std::move(writer));
}

awaitable<ToolResult> write_file(ToolContext context, Object arguments) {
  SandboxArguments given;
  if (const auto refusal = read_for_sandbox(context, arguments, of_writing, given)) {
    co_return failed(*refusal);
  }
  runtime::InputRequest bytes{.data = std::move(given.content), .encoding = given.encoding};
  if (runtime::check_input(bytes)) co_return failed("content: expected padded base64 (RFC 4648)");
  auto found = sandbox_of(context, given.sandbox);
  if (auto* failure = std::get_if<ToolResult>(&found)) co_return std::move(*failure);
  const auto sandbox = std::get<Sandboxes::Found>(found);
  auto work = [files = sandbox->files(), path = given.path,
               data = std::move(bytes.data)]() -> jail::Result<runtime::FileEntry> {
    auto file = files.create(path, std::nullopt);
    if (!file) return file.error();
    if (const auto written = file->write(data); !written) return written.error();
    if (const auto committed = file->commit(); !committed) return committed.error();
    return files.stat(path);
  };
  const auto entry = co_await context.services.sandboxes->do_file_work(*sandbox, std::move(work));
  if (!entry) co_return failed_file(entry.error(), *sandbox);
  context.services.sandboxes->note_file(context.caller, *sandbox,
                                        runtime::SandboxEventKind::file_written, given.path);
  Writer writer;
  runtime::write_file_entry(writer, *entry);
  co_return done(std::move(writer));
}

awaitable<ToolResult> list_files(ToolContext context, Object arguments) {
  auto call = asked(context, arguments, of_listing);
  if (auto* failure = std::get_if<ToolResult>(&call)) co_return std::move(*failure);
  const auto& given = std::get<Asked>(call).given;
  const auto& sandbox = std::get<Asked>(call).sandbox;
  auto work = [files = sandbox->files(), given] {
    return files.list(given.path, static_cast<int>(given.depth));
  };
  const auto list = co_await context.services.sandboxes->do_file_work(*sandbox, std::move(work));
  if (!list) co_return failed_file(list.error(), *sandbox);
  Writer writer;
  runtime::write_file_list(writer, *list);
  co_return done(std::move(writer));
}

ToolArguments arguments_in(std::span<const RequestField<SandboxArguments>> fields,
                           const RequestRules& rules, ToolScope scope) {
  const bool is_named = scope == ToolScope::all_sandboxes;
  return arguments_of(is_named ? fields : without_sandbox(fields), rules);
}

template <const auto& fields>
ToolArguments arguments_with(const RequestRules& rules, ToolScope scope) {
  return arguments_in(fields, rules, scope);
}

template <const ProcessFields& (*fields)()>
ToolArguments process_arguments(const RequestRules& rules, ToolScope scope) {
  ToolArguments all = arguments_of<runtime::ProcessRequest>(fields(), rules);
  if (scope == ToolScope::one_sandbox) return all;
  ToolArguments own = arguments_in(of_a_sandbox, rules, scope);
  own.properties.pop_back();
  own.properties += "," + all.properties.substr(1);
  own.required.insert(own.required.end(), all.required.begin(), all.required.end());
  return own;
}

constexpr Tool in_sandbox_rows[] = {
    {"get_sandbox", "Look at a sandbox", "How a sandbox is, or why it ended.",
     arguments_with<of_a_sandbox>, Scope::read, true, false, true, get_sandbox},
    {"kill_sandbox", "Kill a sandbox", "Ends a sandbox, with its processes and files.",
     arguments_with<of_a_sandbox>, Scope::sandboxes, false, true, false, kill_sandbox},
    {"run_command", "Run a command",
     "Runs a command in a sandbox and returns what it printed, its exit status and why it ended.",
     process_arguments<command_fields>, Scope::sandboxes, false, true, true,
     run_process<command_fields>},
    {"run_code", "Run code",
     "Runs a program in a sandbox, with the files that are there, and returns what it printed, its "
     "exit status and why it ended.",
     process_arguments<code_fields>, Scope::sandboxes, false, true, true, run_process<code_fields>},
    {"read_file", "Read a file", "The content of a file in a sandbox, at most 256 KiB of it.",
     arguments_with<of_reading>, Scope::read, true, false, true, read_file},
    {"write_file", "Write a file",
     "Writes a file in a sandbox, in place of one that is there, with the directories above it.",
     arguments_with<of_writing>, Scope::sandboxes, false, true, true, write_file},
    {"list_files", "List files", "What is in a directory of a sandbox.", arguments_with<of_listing>,
     Scope::read, true, false, true, list_files}};

}  // namespace

std::span<const Tool> in_sandbox_tools() noexcept { return in_sandbox_rows; }

}  // namespace server
