#include "server/cli/jobs/jobs_command.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "runtime/json/members.h"
#include "runtime/service/list_queries.h"
#include "server/api/query.h"
#include "server/cli/exit_codes.h"
#include "server/cli/jobs/job_ids.h"
#include "server/cli/jobs/job_output.h"
#include "server/cli/jobs/jobs_text.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/server_client.h"
#include "server/cli/sandbox/table.h"

namespace server::client {
namespace {

namespace json = runtime::json;

int list_jobs(ServerClient& client, const ListJobsOptions& options) {
  const runtime::Field& page_size = *runtime::find_field(runtime::job_query_fields(), "limit");
  json::Array all;
  std::string cursor;
  do {
    const std::size_t wanted =
        std::min(static_cast<std::size_t>(page_size.max), options.limit - all.size());
    std::string path = "/jobs?limit=" + std::to_string(wanted);
    if (!options.status.empty()) path += "&status=" + percent_encoded(options.status);
    if (!cursor.empty()) path += "&cursor=" + percent_encoded(cursor);
    const auto answer = client.get(std::move(path));
    if (!answer) return refused(client, answer.error());
    const auto page = json::parse(*answer, "answer");
    const json::Array* const jobs = page ? array_in(*page, "jobs") : nullptr;
    if (jobs == nullptr) return fail_unreadable();
    if (options.format == Format::json) {
      if (const int printed = print_json(client, *answer); printed != 0) return printed;
    }
    all.insert(all.end(), jobs->begin(), jobs->end());
    cursor = json::text_member(&*page, "next_cursor");
    if (jobs->empty()) break;
  } while (!cursor.empty() && all.size() < options.limit);
  if (options.format == Format::json) return 0;
  return print(client, jobs_text(all, table_width(STDOUT_FILENO)));
}

int show_job(ServerClient& client, const ShowJobOptions& options) {
  const auto id = whole_job_id(client, options.id);
  if (!id) return refused(client, id.error());
  const auto answer = client.get(job_path(*id));
  if (!answer) return refused(client, with_fewest_characters(answer.error(), options.id));
  if (options.format == Format::json) return print_json(client, *answer);
  const auto job = json::parse(*answer, "answer");
  return job ? print(client, job_text(*job)) : fail_unreadable();
}

// One that cannot be cancelled does not keep the others from it.
int cancel_jobs(ServerClient& client, const CancelJobsOptions& options) {
  int exit_code = 0;
  for (const std::string& id : options.ids) {
    const auto whole = whole_job_id(client, id);
    const auto answer = whole ? client.ask({.method = "DELETE", .path = job_path(*whole)}) : whole;
    if (answer) continue;
    exit_code = refused(client, with_fewest_characters(answer.error(), id));
    if (exit_code != exit_refused) break;
  }
  return exit_code;
}

struct DispatchJobs {
  ServerClient& client;

  int operator()(const ListJobsOptions& options) const { return list_jobs(client, options); }
  int operator()(const ShowJobOptions& options) const { return show_job(client, options); }
  int operator()(const CancelJobsOptions& options) const { return cancel_jobs(client, options); }
  int operator()(const OutputOptions& options) const { return show_output(client, options); }
};

}  // namespace

int jobs(const JobsOptions& options, const runtime::Environment& environment) {
  auto address = server_address(environment);
  if (!address) return server::fail(exit_usage, address.error().message());
  auto signals = Signals::block();
  if (!signals) return server::fail(exit_own_failure, signals.error().message());
  ServerClient client(std::move(*address), *signals);
  return std::visit(DispatchJobs{client}, options);
}

}  // namespace server::client
