// The processes behind a pool of forked jails: the host, which makes jails inside of namespaces of
// its own, and its zygote, which forks their guests.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jail/launcher.h"
#include "jail/pool.h"
#include "parent/order.h"
#include "parent/shared_plans.h"
#include "plan/plan.h"

namespace jail {

// What is the same for all hosts of one template; computed once.
struct TemplatePlans {
  std::shared_ptr<const Plan> jail;  // of each jail
  Fd jail_image;
  std::shared_ptr<const SharedPlan> living;  // of each living one with the template's limits
  std::optional<Error> living_refused;       // why there can be none
  JailSpec living_spec;                      // for plans of living ones with limits of their own
  std::shared_ptr<const Plan> host;          // null unless Warmth::forked, like what follows
  Fd host_image;
  Fd preloaded;
  Fd setup;

  static Result<TemplatePlans> make(const TemplateSpec& asked, const HostFacts& facts);
};

// Used under its pool's lock.
class TemplateHost {
 public:
  // Does not wait. `plans` must outlive it.
  static Result<TemplateHost> start(int launcher_socket, const TemplatePlans& plans);

  // Readable when advance() has something to do; both owned by the host. The second is a pidfd of
  // the zygote, readable once that is dead; -1 before is_ready().
  int control_fd() const noexcept { return control_.get(); }
  int zygote_fd() const noexcept { return zygote_.get(); }

  bool is_ready() const noexcept { return zygote_.valid(); }

  // An Error says why this host will never be ready, with the zygote's own words.
  Result<void> advance();

  // Where to send orders for jails. Owned by the host. When the host goes its zygote ends at once,
  // its jails when they end.
  int socket() const noexcept { return socket_.get(); }

 private:
  TemplateHost() = default;
  Error with_words(Error error) const;

  const TemplatePlans* plans_ = nullptr;
  Fd control_;
  Fd socket_;
  Fd process_;
  Fd zygote_;
  Fd words_;  // what the zygote writes to its standard output and error
  Fd input_;  // kept open, so that it does not read an end
};

}  // namespace jail
