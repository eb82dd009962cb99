#include "runtime/service/caller_jobs.h"

#include <utility>

#include "runtime/json/writer.h"
#include "runtime/observe/uuid.h"

namespace runtime {
namespace {

// What a caller named is repeated up to this length.
constexpr std::size_t max_repeated_bytes = 80;

Refusal no_such_job(std::string_view id) {
  const std::string shown(json::utf8_prefix(id, max_repeated_bytes));
  return {.code = RefusalCode::no_such_job, .detail = "no such job: " + shown};
}

}  // namespace

Refusal job_not_readable(const Services& services, const Caller& caller, const jail::Error& error) {
  services.logger.error("jobs cannot be read",
                        {{"request_id", caller.request_id}, {"error", error.message()}});
  return {.code = RefusalCode::internal_server_error,
          .detail = "jobs cannot be read; the server's log has the reason under this request's id"};
}

boost::asio::awaitable<std::variant<JobPage, Refusal>> list_jobs(Services services, Caller caller,
                                                                 JobQuery query) {
  query.owner = caller.principal.sees();
  auto page = co_await services.jobs.list(std::move(query));
  if (!page) co_return job_not_readable(services, caller, page.error());
  co_return std::move(*page);
}

boost::asio::awaitable<std::variant<JobRecord, Refusal>> find_job(Services services, Caller caller,
                                                                  std::string id) {
  if (!is_uuid(id)) co_return no_such_job(id);
  auto record = co_await services.jobs.find(id, caller.principal.sees());
  if (!record) co_return job_not_readable(services, caller, record.error());
  if (!*record) co_return no_such_job(id);
  co_return std::move(**record);
}

boost::asio::awaitable<std::optional<Refusal>> cancel_job(Services services, Caller caller,
                                                          std::string id) {
  if (!is_uuid(id)) co_return no_such_job(id);
  const auto cancelled = co_await services.jobs.cancel(id, caller.principal.sees());
  if (!cancelled) co_return job_not_readable(services, caller, cancelled.error());
  switch (*cancelled) {
    case Jobs::Cancelled::asked:
      break;
    case Jobs::Cancelled::unknown:
      co_return no_such_job(id);
    case Jobs::Cancelled::over:
      co_return Refusal{.code = RefusalCode::job_ended,
                        .detail = "the job has ended; only one that runs can be cancelled"};
  }
  co_return std::nullopt;
}

boost::asio::awaitable<std::optional<Refusal>> signal_job(Services services, Caller caller,
                                                          std::string id, int number) {
  using Signalled = LiveJobs::Signalled;
  if (!is_uuid(id)) co_return no_such_job(id);
  const auto owner = caller.principal.sees();
  const Signalled signalled = services.live_jobs->signal(id, owner, number);
  if (signalled == Signalled::sent) co_return std::nullopt;
  if (signalled == Signalled::no_program) {
    co_return Refusal{.code = RefusalCode::no_program,
                      .detail = "the job is a task, which has no program of its own; cancel it"};
  }
  const auto record = co_await services.jobs.find(id, owner);
  if (!record) co_return job_not_readable(services, caller, record.error());
  if (!*record) co_return no_such_job(id);
  co_return Refusal{.code = RefusalCode::job_ended,
                    .detail = "the job has ended; only one that runs can be sent a signal"};
}

std::unique_ptr<LiveJobs::Watch> follow_job(const Services& services, const Caller& caller,
                                            const std::string& id,
                                            std::shared_ptr<JobWatcher> watcher) {
  return services.live_jobs->watch(id, caller.principal.sees(), std::move(watcher));
}

}  // namespace runtime
