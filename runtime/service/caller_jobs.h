// The jobs that a caller may see: those that run, and the results of past ones. The refusals: there
// is no such job, or it belongs to another owner; the store cannot be read, in which case the log
// has the reason.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "runtime/refusals/refusal.h"
#include "runtime/service/services.h"
#include "runtime/store/job_record.h"

namespace runtime {

// The owner in `query` is not read: it is the caller.
boost::asio::awaitable<std::variant<JobPage, Refusal>> list_jobs(Services services, Caller caller,
                                                                 JobQuery query);

boost::asio::awaitable<std::variant<JobRecord, Refusal>> find_job(Services services, Caller caller,
                                                                  std::string id);

// Returns std::nullopt where the job has been asked to end. One of the refusals says that it has
// ended already.
boost::asio::awaitable<std::optional<Refusal>> cancel_job(Services services, Caller caller,
                                                          std::string id);

// Returns std::nullopt where the program of the job was sent the signal. One of the refusals says
// that the job has ended, another that it is a task.
boost::asio::awaitable<std::optional<Refusal>> signal_job(Services services, Caller caller,
                                                          std::string id, int number);

// As LiveJobs::watch(): null where no such job of the caller runs. Requires services.live_jobs.
std::unique_ptr<LiveJobs::Watch> follow_job(const Services& services, const Caller& caller,
                                            const std::string& id,
                                            std::shared_ptr<JobWatcher> watcher);

// The refusal for a record that cannot be decoded, which is logged.
Refusal job_not_readable(const Services& services, const Caller& caller, const jail::Error& error);

}  // namespace runtime
