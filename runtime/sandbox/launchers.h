// The process that clones jails, the proxy that is their way out, and the successors of both, since
// somebody may kill them. A launcher does not affect jails that run.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <mutex>
#include <optional>

#include "jail/cgroup.h"
#include "jail/jail.h"
#include "jail/launcher.h"
#include "jail/result.h"
#include "runtime/sandbox/egress_feed.h"

namespace runtime {

enum class Egress : bool { off, by_request };

// Thread-safe.
class Launchers {
 public:
  struct Options {
    boost::asio::any_io_executor executor;  // for the proxy's decisions
    std::optional<jail::CgroupTree> cgroups;
    std::shared_ptr<const jail::IdRange> ids;  // null: jails have this process's user
    Egress egress = Egress::off;
    OnEgress on_egress;
  };
  static jail::Result<std::shared_ptr<Launchers>> start(Options options);

  // The latest launcher, which may be dead.
  std::shared_ptr<jail::Launcher> current() const;
  // The latest launcher, or a new one where that is dead.
  jail::Result<std::shared_ptr<jail::Launcher>> living();
  struct Launched {
    jail::Jail jail;
    std::shared_ptr<jail::Launcher> launcher;  // the launcher that makes the jail
  };
  // Asks the latest launcher for a jail, or a new launcher where the latest is dead or is `failed`.
  // A launcher that is being killed takes orders for a moment, so only a caller whose wait timed
  // out knows that it failed. Errors: as Launcher::launch().
  jail::Result<Launched> launch(const jail::JailSpec& spec,
                                const std::shared_ptr<const void>& failed = nullptr);
  // Returns a living proxy. Errors: invalid (Egress::off), and those of EgressProxy::start().
  jail::Result<std::shared_ptr<const jail::EgressProxy>> egress();
  // Passes on all decisions of the proxy up to now.
  boost::asio::awaitable<void> catch_up() const;

 private:
  explicit Launchers(Options options) : options_(std::move(options)) {}
  jail::Result<void> make();
  // The launcher that succeeded `dead`, with a living proxy.
  jail::Result<std::shared_ptr<jail::Launcher>> after(const std::shared_ptr<jail::Launcher>& dead);

  const Options options_;
  mutable std::mutex mutex_;
  std::shared_ptr<EgressFeed> feed_;  // null without egress
  std::shared_ptr<jail::Launcher> launcher_;
};

}  // namespace runtime
