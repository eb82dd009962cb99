#include "server/mcp/tools.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/service/common_fields.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/process_output.h"
#include "runtime/service/programs.h"
#include "runtime/service/request_fields.h"
#include "runtime/service/sandbox_json.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Complaint;
using runtime::Field;
using runtime::OutputEncoding;
using runtime::Refusal;
using runtime::RequestField;
using runtime::RequestRules;
using runtime::Sandboxes;
using runtime::json::Object;
using runtime::json::Value;
using runtime::json::Writer;
using Result = McpTools::Result;

constexpr std::size_t most_read_bytes = 256u << 10;
constexpr std::size_t most_path_bytes = 4096;

struct Context {
  const runtime::Services& services;
  const RequestRules& rules;
  runtime::Caller caller;
  runtime::Cancel cancel;
};

Result failed(std::string why) { return {.json = std::move(why), .is_error = true}; }

Result failed(const Refusal& refusal) {
  return failed(refusal.remedy.empty() ? refusal.detail
                                       : refusal.detail + "; " + std::string(refusal.remedy));
}

Result done(Writer writer) { return {.json = std::move(writer).take()}; }

Complaint nowhere_else(std::string_view) { return std::nullopt; }

template <class Request>
Complaint read(const Context& context, const Object& arguments,
               std::span<const RequestField<Request>> fields, Request& request) {
  return runtime::read_fields(arguments, fields, context.rules, nowhere_else, request);
}

// What the tools that work in a sandbox are told, beside what a process is started with.
struct SandboxArguments {
  std::string sandbox;
  std::string path = "/workspace";
  std::string content;
  OutputEncoding encoding = OutputEncoding::utf8;
  std::uint32_t depth = 1;
};

constexpr RequestField<SandboxArguments> sandbox_field = {
    {.name = "sandbox",
     .type = Field::Type::text,
     .min = 1,
     .max = 64,
     .unit = "bytes",
     .description = "The id or name of a sandbox, from create_sandbox or list_sandboxes."},
    runtime::read_text<&SandboxArguments::sandbox>};

constexpr RequestField<SandboxArguments> path_field = {
    {.name = "path",
     .type = Field::Type::text,
     .min = 1,
     .max = most_path_bytes,
     .unit = "bytes",
     .description = "An absolute path in the sandbox."},
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
    {{.name = "content", .type = Field::Type::text},
     runtime::read_text<&SandboxArguments::content>},
    encoding_field};
constexpr RequestField<SandboxArguments> of_listing[] = {
    sandbox_field,
    {{.name = "path",
      .type = Field::Type::text,
      .min = 1,
      .max = most_path_bytes,
      .unit = "bytes",
      .default_json = R"("/workspace")"},
     runtime::read_text<&SandboxArguments::path>},
    {{.name = "depth",
      .type = Field::Type::integer,
      .min = 1,
      .max = 16,
      .default_json = "1",
      .description = "How many levels of directories."},
     runtime::read_integer<&SandboxArguments::depth>}};

// The fields of a process that make sense where its end is waited for.
const std::vector<RequestField<runtime::ProcessRequest>>& command_fields() {
  static const auto fields = [] {
    std::vector<RequestField<runtime::ProcessRequest>> chosen;
    for (const auto& row : runtime::process_fields()) {
      constexpr std::string_view names[] = {"command", "env", "working_directory", "stdin",
                                            "timeout_seconds"};
      if (std::find(std::begin(names), std::end(names), row.field.name) != std::end(names)) {
        chosen.push_back(row);
      }
    }
    return chosen;
  }();
  return fields;
}

// The sandbox that is named, which lives and runs.
std::variant<Sandboxes::Found, Result> sandbox_of(const Context& context, std::string_view name) {
  if (name.empty()) return failed("sandbox: expected the id or name of one");
  const auto found = context.services.sandboxes->find_active(context.caller.principal, name);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return failed(*refusal);
  return std::get<Sandboxes::Found>(found);
}

// What a tool is asked to do, and the sandbox that is meant, which lives.
struct Asked {
  SandboxArguments given;
  Sandboxes::Found sandbox;
};

std::variant<Asked, Result> asked(const Context& context, const Object& arguments,
                                  std::span<const RequestField<SandboxArguments>> fields) {
  SandboxArguments given;
  if (const auto complaint = read(context, arguments, fields, given)) return failed(*complaint);
  auto found = sandbox_of(context, given.sandbox);
  if (auto* failure = std::get_if<Result>(&found)) return std::move(*failure);
  return Asked{std::move(given), std::get<Sandboxes::Found>(found)};
}

awaitable<Result> execute_code(Context context, Object arguments) {
  auto request = runtime::default_program(context.rules);
  Complaint complaint = read(context, arguments, runtime::program_fields(), request);
  if (!complaint && request.code.empty()) complaint = "code: expected";
  if (!complaint) complaint = runtime::check_program(request, context.rules);
  if (complaint) co_return failed(*complaint);
  runtime::RunOptions options;
  options.cancel = context.cancel.child();
  auto ran =
      co_await runtime::run_program(context.services, context.caller, runtime::make_execution(),
                                    std::move(request), std::move(options));
  if (const auto* refusal = std::get_if<Refusal>(&ran)) co_return failed(*refusal);
  Result result;
  result.json = std::move(std::get<runtime::ProgramOutcome>(ran).result);
  co_return result;
}

awaitable<Result> create_sandbox(Context context, Object arguments) {
  auto request = runtime::default_sandbox(context.rules);
  Complaint complaint = read(context, arguments, runtime::sandbox_fields(), request);
  if (!complaint) complaint = runtime::check_sandbox(request);
  if (complaint) co_return failed(*complaint);
  const auto made = co_await context.services.sandboxes->create(context.caller, std::move(request));
  if (const auto* refusal = std::get_if<Refusal>(&made)) co_return failed(*refusal);
  Writer writer;
  runtime::write_sandbox(writer, *context.services.sandboxes, *std::get<Sandboxes::Found>(made));
  co_return done(std::move(writer));
}

awaitable<Result> list_sandboxes(Context context, Object arguments) {
  if (!arguments.empty()) co_return failed("expected no arguments");
  Sandboxes::Query query;
  query.states = {runtime::Sandbox::State::running, runtime::Sandbox::State::paused};
  const auto page = context.services.sandboxes->list(context.caller.principal, query);
  Writer writer;
  writer.begin_object().key("sandboxes").begin_array();
  for (const auto& sandbox : page.sandboxes) {
    runtime::write_sandbox(writer, *context.services.sandboxes, *sandbox);
  }
  writer.end_array().end_object();
  co_return done(std::move(writer));
}

awaitable<Result> get_sandbox(Context context, Object arguments) {
  SandboxArguments given;
  if (const auto complaint = read<SandboxArguments>(context, arguments, of_a_sandbox, given)) {
    co_return failed(*complaint);
  }
  const auto found = context.services.sandboxes->find(context.caller.principal, given.sandbox);
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return failed(*refusal);
  Writer writer;
  runtime::write_sandbox(writer, *context.services.sandboxes, *std::get<Sandboxes::Found>(found));
  co_return done(std::move(writer));
}

awaitable<Result> kill_sandbox(Context context, Object arguments) {
  SandboxArguments given;
  if (const auto complaint = read<SandboxArguments>(context, arguments, of_a_sandbox, given)) {
    co_return failed(*complaint);
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

awaitable<Result> run_command(Context context, Object arguments) {
  std::string name;
  if (const auto given = arguments.find("sandbox"); given != arguments.end()) {
    if (given->second.as_string() == nullptr) co_return failed("sandbox: expected a string");
    name = *given->second.as_string();
    arguments.erase(given);
  }
  runtime::ProcessRequest request;
  Complaint complaint =
      read<runtime::ProcessRequest>(context, arguments, command_fields(), request);
  if (!complaint) complaint = runtime::check_process(request);
  if (complaint) co_return failed(*complaint);
  auto found = sandbox_of(context, name);
  if (auto* failure = std::get_if<Result>(&found)) co_return std::move(*failure);
  const auto sandbox = std::get<Sandboxes::Found>(found);
  const runtime::LivingSandbox::Use use(sandbox->living());
  const auto started = co_await context.services.sandboxes->start_process(
      context.caller, sandbox, std::move(request), context.cancel);
  if (const auto* refusal = std::get_if<Refusal>(&started)) co_return failed(*refusal);
  const auto process = std::get<std::shared_ptr<runtime::LivingProcess>>(started);
  const auto output = co_await runtime::output_to_the_end(process, context.cancel);
  if (!output.has_ended) co_return failed("cancelled");
  co_await Sandboxes::settle(sandbox, *process);
  Writer writer;
  runtime::write_process(writer, *context.services.sandboxes, *sandbox, *process, output,
                         OutputEncoding::utf8);
  co_return done(std::move(writer));
}

Result failed_file(const jail::Error& error) { return failed(Sandboxes::refusal_of_file(error)); }

awaitable<Result> read_file(Context context, Object arguments) {
  auto call = asked(context, arguments, of_reading);
  if (auto* failure = std::get_if<Result>(&call)) co_return std::move(*failure);
  const auto& given = std::get<Asked>(call).given;
  const auto& sandbox = std::get<Asked>(call).sandbox;
  auto open = [files = sandbox->files(), path = given.path] { return files.open_to_read(path); };
  const auto file = co_await context.services.sandboxes->do_file_work(*sandbox, std::move(open));
  if (!file) co_return failed_file(file.error());
  context.services.sandboxes->note_file(context.caller, *sandbox,
                                        runtime::SandboxEventKind::file_read, given.path);
  struct stat status {};
  ::fstat(file->get(), &status);
  std::string content(std::min<std::size_t>(most_read_bytes, status.st_size), '\0');
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

awaitable<Result> write_file(Context context, Object arguments) {
  SandboxArguments given;
  Complaint complaint = read<SandboxArguments>(context, arguments, of_writing, given);
  if (!complaint && !arguments.contains("path")) complaint = "path: expected";
  if (!complaint && !arguments.contains("content")) complaint = "content: expected";
  if (complaint) co_return failed(*complaint);
  runtime::InputRequest bytes{.data = std::move(given.content), .encoding = given.encoding};
  if (runtime::check_input(bytes)) co_return failed("content: expected padded base64 (RFC 4648)");
  auto found = sandbox_of(context, given.sandbox);
  if (auto* failure = std::get_if<Result>(&found)) co_return std::move(*failure);
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
  if (!entry) co_return failed_file(entry.error());
  context.services.sandboxes->note_file(context.caller, *sandbox,
                                        runtime::SandboxEventKind::file_written, given.path);
  Writer writer;
  runtime::write_file_entry(writer, *entry);
  co_return done(std::move(writer));
}

awaitable<Result> list_files(Context context, Object arguments) {
  auto call = asked(context, arguments, of_listing);
  if (auto* failure = std::get_if<Result>(&call)) co_return std::move(*failure);
  const auto& given = std::get<Asked>(call).given;
  const auto& sandbox = std::get<Asked>(call).sandbox;
  auto work = [files = sandbox->files(), given] {
    return files.list(given.path, static_cast<int>(given.depth));
  };
  const auto list = co_await context.services.sandboxes->do_file_work(*sandbox, std::move(work));
  if (!list) co_return failed_file(list.error());
  Writer writer;
  runtime::write_file_list(writer, *list);
  co_return done(std::move(writer));
}

// Members of `properties` beside those of a table of fields.
std::string command_properties(const RequestRules& rules) {
  const std::string own = runtime::properties_of<SandboxArguments>(of_a_sandbox, rules);
  const std::string rest = runtime::properties_of<runtime::ProcessRequest>(command_fields(), rules);
  return own.substr(0, own.size() - 1) + "," + rest.substr(1);
}

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::string (*properties)(const RequestRules&);
  std::string_view required;  // a JSON array
  // https://modelcontextprotocol.io/specification/2025-11-25/schema, ToolAnnotations
  bool reads_only;
  bool destroys;
  awaitable<Result> (*call)(Context, Object);
};

constexpr Tool tools[] = {
    {"execute_code", "Execute code",
     "Runs one program in a fresh sandbox of its own and returns what it printed, its exit status "
     "and why it ended. Nothing is kept between calls; for that, create a sandbox and use "
     "run_command.",
     [](const RequestRules& rules) {
       return runtime::properties_of(runtime::program_fields(), rules);
     },
     R"(["code"])", false, false, execute_code},
    {"create_sandbox", "Create a sandbox",
     "Makes a sandbox that lives: processes run in it and share its files until it is killed or "
     "its time is over. Returns it with its id.",
     [](const RequestRules& rules) {
       return runtime::properties_of(runtime::sandbox_fields(), rules);
     },
     "[]", false, false, create_sandbox},
    {"list_sandboxes", "List sandboxes", "The sandboxes that live.",
     [](const RequestRules&) { return std::string("{}"); }, "[]", true, false, list_sandboxes},
    {"get_sandbox", "Look at a sandbox", "How a sandbox is, or why it ended.",
     [](const RequestRules& rules) {
       return runtime::properties_of<SandboxArguments>(of_a_sandbox, rules);
     },
     R"(["sandbox"])", true, false, get_sandbox},
    {"kill_sandbox", "Kill a sandbox", "Ends a sandbox, with its processes and files.",
     [](const RequestRules& rules) {
       return runtime::properties_of<SandboxArguments>(of_a_sandbox, rules);
     },
     R"(["sandbox"])", false, true, kill_sandbox},
    {"run_command", "Run a command",
     "Runs a command in a sandbox and returns what it printed, its exit status and why it ended.",
     command_properties, R"(["sandbox","command"])", false, true, run_command},
    {"read_file", "Read a file", "The content of a file in a sandbox, at most 256 KiB of it.",
     [](const RequestRules& rules) {
       return runtime::properties_of<SandboxArguments>(of_reading, rules);
     },
     R"(["sandbox","path"])", true, false, read_file},
    {"write_file", "Write a file",
     "Writes a file in a sandbox, in place of one that is there, with the directories above it.",
     [](const RequestRules& rules) {
       return runtime::properties_of<SandboxArguments>(of_writing, rules);
     },
     R"(["sandbox","path","content"])", false, true, write_file},
    {"list_files", "List files", "What is in a directory of a sandbox.",
     [](const RequestRules& rules) {
       return runtime::properties_of<SandboxArguments>(of_listing, rules);
     },
     R"(["sandbox"])", true, false, list_files}};

const Tool* find_tool(std::string_view name) {
  const auto found = std::find_if(std::begin(tools), std::end(tools),
                                  [&](const Tool& tool) { return tool.name == name; });
  return found == std::end(tools) ? nullptr : found;
}

}  // namespace

bool McpTools::has(std::string_view name) { return find_tool(name) != nullptr; }

void McpTools::write_list(Writer& writer) const {
  writer.begin_array();
  for (const Tool& tool : tools) {
    writer.begin_object().key("name").string(tool.name).key("title").string(tool.title);
    writer.key("description").string(tool.description);
    writer.key("inputSchema").begin_object().key("type").string("object");
    writer.key("properties").json(tool.properties(rules_));
    writer.key("required").json(tool.required);
    writer.key("additionalProperties").boolean(false).end_object();
    writer.key("annotations").begin_object();
    writer.key("readOnlyHint").boolean(tool.reads_only);
    writer.key("destructiveHint").boolean(tool.destroys);
    writer.key("openWorldHint").boolean(false).end_object().end_object();
  }
  writer.end_array();
}

awaitable<Result> McpTools::call(std::string_view name, Object arguments, runtime::Caller caller,
                                 runtime::Cancel cancel) const {
  Context context{services_, rules_, std::move(caller), std::move(cancel)};
  co_return co_await find_tool(name)->call(std::move(context), std::move(arguments));
}

}  // namespace server
