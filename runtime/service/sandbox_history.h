// What is kept of sandboxes and of what happened in them, beyond the life of the server.
#pragma once

#include <boost/asio/awaitable.hpp>
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

// In the file of the jobs, whose owners' names it uses. Thread-safe. What is told is written within
// a few milliseconds; a disk that fails stops no sandbox, and is counted as the jobs' is.
class SandboxHistory {
 public:
  // `jobs` outlives it. Of each owner's events the latest `kept_events` are kept.
  SandboxHistory(Jobs& jobs, std::uint32_t kept_events);
  // Waits until the disk has what was noted, since that is written by this object's table.
  ~SandboxHistory();
  SandboxHistory(const SandboxHistory&) = delete;
  SandboxHistory& operator=(const SandboxHistory&) = delete;

  struct Known {
    std::string id;
    std::string owner;
    SandboxRecord record;
  };
  // What was kept of sandboxes, the one that began first comes first. Those that cannot be read are
  // left out and counted. Waits for the disk.
  jail::Result<std::vector<Known>> load();

  void keep(Known sandbox);
  void forget(std::string id);

  // Writes the members of an object that says more of an event.
  using Detail = std::function<void(json::Writer&)>;
  // `caller` asked for it; null: nobody did.
  void note(std::string_view owner, std::string_view sandbox, SandboxEventKind kind,
            const Caller* caller, const Detail& detail = {});
  boost::asio::awaitable<jail::Result<SandboxEventPage>> events(SandboxEventQuery query);
  // These wake whoever waits for events; events() finds what was noted before.
  EventNews& news() noexcept { return news_; }

  // A connection of the sandbox whose id is the decision's label; of no other who is known here.
  void note_egress(const jail::EgressDecision& decision);
  // Nothing, where no sandbox of that id is known.
  EgressUse egress_use(std::string_view id);

  // Where jobs are durable: once the disk has all that was told before. Else at once.
  boost::asio::awaitable<void> settle() { return jobs_.settle(); }

 private:
  struct Audited {
    std::string owner;
    EgressAudit egress;
  };

  void tell_counted(const SandboxEventQuery& query);
  void tell(const std::string& owner, const std::string& sandbox,
            const std::vector<EgressNews>& news);

  Jobs& jobs_;
  SandboxTable table_;  // the writer's
  EventNews news_;
  std::mutex mutex_;
  std::map<std::string, Audited, std::less<>> audited_;  // by id
};

}  // namespace runtime
