#include "server/cli/jobs/jobs_arguments.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "runtime/service/list_queries.h"
#include "runtime/service/sandbox_queries.h"
#include "server/cli/common_arguments.h"
#include "server/cli/sandbox/raw_arguments.h"

namespace server::client {
namespace {

// Many pages of the server's, and little enough to be held at once.
constexpr runtime::Field listed = {
    .name = "limit", .type = runtime::Field::Type::integer, .min = 1, .max = 10'000};

// As CLI11 hands them over.
struct RawJobsArguments {
  std::string id;
  std::vector<std::string> ids;
  std::string status;
  std::uint32_t limit = ListJobsOptions().limit;
  std::uint32_t tail = 0;
  bool follow = false;
  bool json = false;
};

void add_list_options(CLI::App& command, RawJobsArguments& raw) {
  const runtime::Field& status = *runtime::find_field(runtime::job_query_fields(), "status");
  command.add_option("--status", raw.status, "Only those that have it, as running or error")
      ->type_name("STATUS")
      ->check(word_of(status, rules_of_any_server()));
  command.add_option("--limit", raw.limit, "At most so many, the newest [50]")
      ->type_name("N")
      ->transform(number_of(listed));
  add_json(command, raw.json);
}

}  // namespace

struct JobsCommands::State {
  RawJobsArguments raw;
  CLI::App* jobs = nullptr;
  CLI::App* list = nullptr;
  CLI::App* show = nullptr;
  CLI::App* cancel = nullptr;
  CLI::App* logs = nullptr;

  Format format() const { return raw.json ? Format::json : Format::text; }
  Command of_jobs() const;
  Command of_logs() const;
};

Command JobsCommands::State::of_jobs() const {
  if (show->parsed() || cancel->parsed()) {
    for (const char* const option : {"--status", "--limit"}) {
      if (jobs->count(option) > 0) return usage(std::string(option) + " is for jobs list");
    }
  }
  if (show->parsed()) {
    if (raw.id.empty()) return usage("jobs show: expected the ID of a job");
    return JobsOptions(ShowJobOptions{.id = raw.id, .format = format()});
  }
  if (cancel->parsed()) {
    if (!are_ids(raw.ids)) {
      return usage("jobs cancel: expected the ID of a job, or of several");
    }
    return JobsOptions(CancelJobsOptions{.ids = raw.ids});
  }
  return JobsOptions(ListJobsOptions{.status = raw.status, .limit = raw.limit, .format = format()});
}

Command JobsCommands::State::of_logs() const {
  if (raw.id.empty()) return usage("logs: expected the ID of a job or of a sandbox");
  OutputOptions options;
  options.id = raw.id;
  if (logs->count("--tail") > 0) options.tail = raw.tail;
  options.follow = raw.follow;
  return JobsOptions(std::move(options));
}

JobsCommands::JobsCommands() : state_(std::make_unique<State>()) {}
JobsCommands::~JobsCommands() = default;

void JobsCommands::define(CLI::App& app) {
  State& state = *state_;
  RawJobsArguments& raw = state.raw;
  state.jobs = app.add_subcommand("jobs", "Programs and tasks that a server runs or has run");
  state.jobs->require_subcommand(0, 1);  // a word behind it may be called as another is
  add_list_options(*state.jobs, raw);
  state.list = state.jobs->add_subcommand("list", "Show them, newest first; so does jobs alone");
  add_list_options(*state.list, raw);
  state.show = state.jobs->add_subcommand("show", "Show one, and how it ended");
  state.show->add_option("id", raw.id, "The job's id, as list shows it, or its first 6 characters")
      ->type_name("ID");
  add_json(*state.show, raw.json);
  state.cancel = state.jobs->add_subcommand("cancel", "End some that run");
  state.cancel->add_option("ids", raw.ids, "Ids of jobs, or their first 6 characters")
      ->type_name("ID");
  state.jobs->footer(help_about_servers);
  state.logs = app.add_subcommand("logs", "Print what a job or a sandbox wrote");
  state.logs
      ->add_option("id", raw.id,
                   "The id of a job, or its first 6 characters, or the id or the name of a sandbox")
      ->type_name("ID");
  state.logs->add_flag("-f,--follow", raw.follow, "Go on until it ends");
  state.logs->add_option("--tail", raw.tail, "Begin with the latest N lines")
      ->type_name("N")
      ->transform(number_of(*runtime::find_field(runtime::log_query_fields(), "tail"),
                            rules_of_any_server()));
  state.logs->footer(
      std::string("The output of a job is kept when the job has ended. While it runs, -f prints\n"
                  "what it writes from now on.\n") +
      help_about_servers);
}

std::optional<Command> JobsCommands::parsed() const {
  if (state_->jobs->parsed()) return state_->of_jobs();
  if (state_->logs->parsed()) return state_->of_logs();
  return std::nullopt;
}

}  // namespace server::client
