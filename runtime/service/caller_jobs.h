// The jobs that a caller may see: those that run, and the results of past ones. The refusals: there
// is no such job, or it is another owner's; the store cannot be read, and the log has the reason.
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

// `query` without its owner, who is the caller.
boost::asio::awaitable<std::variant<JobPage, Refusal>> list_jobs(Services services, Caller caller,
                                                                 JobQuery query);

boost::asio::awaitable<std::variant<JobRecord, Refusal>> find_job(Services services, Caller caller,
                                                                  std::string id);

// Nothing: it is asked to end. A refusal says also that it has ended already.
boost::asio::awaitable<std::optional<Refusal>> cancel_job(Services services, Caller caller,
                                                          std::string id);

// As LiveJobs::watch(): null where no such job of the caller's runs. services.live_jobs is there.
std::unique_ptr<LiveJobs::Watch> follow_job(const Services& services, const Caller& caller,
                                            const std::string& id,
                                            std::shared_ptr<JobWatcher> watcher);

// For a record that cannot be shown: it is logged.
Refusal job_not_readable(const Services& services, const Caller& caller, const jail::Error& error);

}  // namespace runtime
