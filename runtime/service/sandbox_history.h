// The records of sandboxes and of their events, which outlive the server.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "jail/egress.h"
#include "jail/result.h"
#include "runtime/json/writer.h"
#include "runtime/service/egress_audit.h"
#include "runtime/service/event_news.h"
#include "runtime/service/principal.h"
#include "runtime/service/records.h"
#include "runtime/service/sandbox_event_kind.h"
#include "runtime/store/jobs.h"
#include "runtime/store/sandbox_table.h"

namespace runtime {

// Uses the file of the jobs, with the same names of owners. Thread-safe. Notes are written within a
// few milliseconds; a disk that fails stops no sandbox, and is counted as for jobs.
class SandboxHistory {
 public:
  // `jobs` must outlive it. The latest `kept_events` of each owner's events are kept.
  SandboxHistory(Jobs& jobs, std::uint32_t kept_events);
  // Waits until the disk has all notes, since this object's table writes them.
  ~SandboxHistory();
  SandboxHistory(const SandboxHistory&) = delete;
  SandboxHistory& operator=(const SandboxHistory&) = delete;

  struct Known {
    std::string id;
    std::string owner;
    SandboxRecord record;
  };
  // The kept sandboxes, in the order in which they began. Those that cannot be decoded are left out
  // and counted. Waits for the disk.
  jail::Result<std::vector<Known>> load();
  // How many load() has left out.
  std::size_t unreadable() const noexcept { return unreadable_; }
  // The numbers of the processes of that sandbox whose start was noted and whose end was not. Waits
  // for the disk.
  jail::Result<std::vector<std::int64_t>> processes_without_end(std::string_view sandbox);

  void keep(Known sandbox);
  void forget(std::string id);

  // Writes the members of an object with details of an event.
  using Detail = std::function<void(json::Writer&)>;
  // `caller` is who requested it; null: nobody did.
  void note(std::string_view owner, std::string_view sandbox, SandboxEventKind kind,
            const Caller* caller, const Detail& detail = {});
  boost::asio::awaitable<jail::Result<SandboxEventPage>> events(SandboxEventQuery query);
  // Wakes callers that wait for events; events() finds what was noted before.
  EventNews& news() noexcept { return news_; }

  // Notes a connection of the sandbox whose id is the decision's label; ignores unknown sandboxes.
  void note_egress(const jail::EgressDecision& decision);
  // Returns zeros where no sandbox of that id is known.
  EgressUse egress_use(std::string_view id);

  // Where jobs are durable, waits until the disk has all earlier notes. Otherwise returns at once.
  boost::asio::awaitable<void> settle() { return jobs_.settle(); }
  // As Jobs::written().
  boost::asio::awaitable<void> written() { return jobs_.written(); }

 private:
  struct Audited {
    std::string owner;
    EgressAudit egress;
  };

  void tell_counted(const SandboxEventQuery& query);
  void tell(const std::string& owner, const std::string& sandbox,
            const std::vector<EgressNews>& news);

  Jobs& jobs_;
  SandboxTable table_;  // used by the writer's thread alone
  std::size_t unreadable_ = 0;
  EventNews news_;
  std::mutex mutex_;
  std::map<std::string, Audited, std::less<>> audited_;  // by id
};

}  // namespace runtime
