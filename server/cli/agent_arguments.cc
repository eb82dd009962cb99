#include "server/cli/agent_arguments.h"

#include <CLI/CLI.hpp>

#include "runtime/json/writer.h"
#include "runtime/service/request_fields.h"
#include "server/cli/common_arguments.h"

namespace server {
namespace {

namespace agent = runtime::agent;

// As CLI11 hands them over.
struct RawAgentArguments {
  std::string task;
  std::uint32_t attempts = 0;
  std::uint32_t candidates = 1;
  std::string tests;
  bool verbose = false;
  bool swarm = false;
  bool json = false;
  bool markdown = false;
  bool write_tests = false;
  bool no_lessons = false;
  std::string provider;
  std::string model;
  std::string trace;
  std::string server;
  std::string suite;
  std::uint32_t limit = 0;
  std::string id;
  bool all = false;
  ProgramArguments program;
  ArtifactArguments artifacts;
  HostArguments host;
};

void add_model(CLI::App& command, RawAgentArguments& raw) {
  command.add_option("--provider", raw.provider, "Which provider, by name [as configured]")
      ->type_name("NAME");
  command.add_option("--model", raw.model, "Which of its models [as configured]")
      ->type_name("NAME");
}

void add_attempts(CLI::App& command, RawAgentArguments& raw) {
  const runtime::Field& field = *runtime::find_field(runtime::task_fields(), "max_attempts");
  command
      .add_option("-a,--attempts", raw.attempts,
                  "How often a program may be tried, " + runtime::range_of(field) +
                      " [MAX_REFLEXION_ATTEMPTS, 3]")
      ->type_name("N")
      ->transform(number_of(field));
}

CLI::App& define_run(CLI::App& app, RawAgentArguments& raw) {
  CLI::App& run = *app.add_subcommand("run", "Let a model solve a task, in jails");
  run.add_option("task", raw.task, "What is to be done; - reads it from standard input")
      ->type_name("TASK");
  add_attempts(run, raw);
  run.add_flag("-v,--verbose", raw.verbose, "Show the model's reasons and what programs write");
  run.add_flag("--swarm", raw.swarm, "Architect, coder, critic, security and optimizer together");
  const runtime::Field& candidates = *runtime::find_field(runtime::task_fields(), "candidates");
  run.add_option("--candidates", raw.candidates,
                 "Solutions generated and run side by side, " + runtime::range_of(candidates) +
                     " [" + std::string(candidates.default_json) + "]")
      ->type_name("N")
      ->transform(number_of(candidates));
  run.add_flag("--json", raw.json, "Print the result as POST /execute returns it");
  run.add_option("--tests", raw.tests, "Python appended to each program, which must then exit 0")
      ->type_name("FILE");
  run.add_flag("--write-tests", raw.write_tests, "Let the model write tests first");
  add_program_arguments(run, raw.program);
  add_artifact_arguments(run, raw.artifacts);
  add_model(run, raw);
  add_server(run, raw.server);
  run.add_option("--trace", raw.trace, "Write what happened as a page of HTML")->type_name("FILE");
  run.add_flag("--no-lessons", raw.no_lessons, "Neither recall nor learn from this task");
  add_host_arguments(run, raw.host);
  run.footer(
      "Progress goes to standard error, the output of the program that solved the task to\n"
      "standard output. The exit status is 0 when it is solved, 1 when not; 2: usage, 125: our "
      "own\n"
      "failure, 130: interrupted.");
  return run;
}

CLI::App& define_benchmark(CLI::App& app, RawAgentArguments& raw) {
  CLI::App& benchmark =
      *app.add_subcommand("benchmark", "Let a model solve a suite of tasks, and count");
  benchmark
      .add_option(
          "--suite", raw.suite,
          "quick, algorithms, error_recovery, data, math, strings, hard, full, or a file of "
          "HumanEval or MBPP, one problem a line [quick]")
      ->type_name("SUITE");
  benchmark.add_option("--limit", raw.limit, "Only the first N tasks")
      ->type_name("N")
      ->transform(number_of(*runtime::find_field(runtime::benchmark_fields(), "max_problems")));
  add_attempts(benchmark, raw);
  add_model(benchmark, raw);
  auto* json = benchmark.add_flag("--json", raw.json, "For machines");
  benchmark.add_flag("--markdown", raw.markdown, "For a README")->excludes(json);
  add_host_arguments(benchmark, raw.host);
  return benchmark;
}

struct LessonCommands {
  CLI::App* whole = nullptr;
  CLI::App* list = nullptr;
  CLI::App* erase = nullptr;
};

LessonCommands define_lessons(CLI::App& app, RawAgentArguments& raw) {
  LessonCommands commands;
  commands.whole = app.add_subcommand("lessons", "What was learnt from tasks of this user");
  commands.whole->require_subcommand(0, 1);  // a word behind it may be called as another is
  commands.whole->add_option("--user", raw.host.user, "Whose, when started as root")
      ->type_name("NAME");
  commands.list = commands.whole->add_subcommand("list", "Show them, newest first");
  commands.list->add_flag("--json", raw.json, "For machines");
  commands.erase = commands.whole->add_subcommand("erase", "Forget one, or all of them");
  auto* id = commands.erase->add_option("id", raw.id, "The lesson's id, as list shows it");
  commands.erase->add_flag("--all", raw.all, "All of them")->excludes(id);
  return commands;
}

// What is wrong with the name of a model, or nothing.
std::optional<Finished> check_model(const CLI::App& command, const RawAgentArguments& raw) {
  if (command.count("--model") == 0) return std::nullopt;
  const auto& row = *runtime::find_row(runtime::task_fields(), "model");
  agent::TaskRequest request;
  const auto complaint = row.read(row.field, runtime::json::Value(raw.model), {}, request);
  if (!complaint) return std::nullopt;
  return usage("--model: " + *complaint);
}

// The same of the name of a provider. One that a server knows may be another one.
std::optional<Finished> check_provider(const CLI::App& command, const RawAgentArguments& raw) {
  if (command.count("--provider") == 0 || !raw.server.empty()) return std::nullopt;
  std::string known;
  for (const runtime::ProviderConfig& provider : runtime::known_providers()) {
    if (provider.name == raw.provider) return std::nullopt;
    known += provider.name + ", ";
  }
  known += runtime::Config().replay.name;
  if (raw.provider == runtime::Config().replay.name) return std::nullopt;
  return usage("--provider: expected one of " + known + ", not " +
               runtime::json::quoted(raw.provider, 64));
}

Command run_options(const CLI::App& run, const RawAgentArguments& raw) {
  RunTaskOptions options;
  if (raw.task.empty()) return usage("run: expected TASK, or - to read it from standard input");
  if (!runtime::is_task_text(raw.task)) {
    return usage("run: expected a TASK of 1 .. " + std::to_string(runtime::max_task_characters) +
                 " characters");
  }
  options.task = raw.task;
  if (auto mistake = check_model(run, raw)) return *mistake;
  if (auto mistake = check_provider(run, raw)) return *mistake;
  if (run.count("--attempts") > 0) options.max_attempts = raw.attempts;
  options.candidates = raw.candidates;
  options.tests_file = raw.tests;
  if (auto mistake = read_program_arguments(run, raw.program, options.program)) return *mistake;
  if (auto mistake = read_artifact_arguments(raw.artifacts, raw.json, options.artifacts))
    return *mistake;
  if (raw.swarm) options.team = agent::Team::swarm;
  if (raw.write_tests) options.tests_by_model = agent::TestsByModel::first;
  if (raw.no_lessons) options.lessons = agent::Lessons::off;
  options.provider = raw.provider;
  options.model = raw.model;
  options.trace_file = raw.trace;
  if (auto mistake = check_server(run, raw.server)) return *mistake;
  options.server = raw.server;
  if (raw.json) options.output = RunTaskOptions::Output::json;
  if (raw.verbose) options.detail = RunTaskOptions::Detail::all;
  read_host_arguments(run, raw.host, options.host);
  return options;
}

Command benchmark_options(const CLI::App& benchmark, const RawAgentArguments& raw) {
  if (auto mistake = check_model(benchmark, raw)) return *mistake;
  if (auto mistake = check_provider(benchmark, raw)) return *mistake;
  BenchmarkOptions options;
  if (!raw.suite.empty()) options.suite = raw.suite;
  if (benchmark.count("--limit") > 0) options.max_problems = raw.limit;
  if (benchmark.count("--attempts") > 0) options.max_attempts = raw.attempts;
  options.provider = raw.provider;
  options.model = raw.model;
  if (raw.json) options.format = BenchmarkOptions::Format::json;
  if (raw.markdown) options.format = BenchmarkOptions::Format::markdown;
  read_host_arguments(benchmark, raw.host, options.host);
  return options;
}

Command lessons_options(const LessonCommands& commands, const RawAgentArguments& raw) {
  LessonsOptions options;
  if (commands.whole->count("--user") > 0) options.user = raw.host.user;
  if (commands.erase->parsed()) {
    if (raw.id.empty() && !raw.all) {
      return usage("lessons erase: expected the id of a lesson, or --all");
    }
    options.action = LessonsOptions::Action::erase;
    options.id = raw.id;
    return options;
  }
  if (!commands.list->parsed()) return usage("lessons: expected list or erase");
  if (raw.json) options.format = LessonsOptions::Format::json;
  return options;
}

}  // namespace

struct AgentCommands::State {
  RawAgentArguments raw;
  CLI::App* run = nullptr;
  CLI::App* benchmark = nullptr;
  LessonCommands lessons;
};

AgentCommands::AgentCommands() : state_(std::make_unique<State>()) {}
AgentCommands::~AgentCommands() = default;

void AgentCommands::define(CLI::App& app) {
  state_->run = &define_run(app, state_->raw);
  state_->benchmark = &define_benchmark(app, state_->raw);
  state_->lessons = define_lessons(app, state_->raw);
}

std::optional<Command> AgentCommands::parsed() const {
  if (state_->run->parsed()) return run_options(*state_->run, state_->raw);
  if (state_->benchmark->parsed()) return benchmark_options(*state_->benchmark, state_->raw);
  if (state_->lessons.whole->parsed()) return lessons_options(state_->lessons, state_->raw);
  return std::nullopt;
}

}  // namespace server
