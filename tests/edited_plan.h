// Jails by plans that were changed after they were compiled: with a step left out, or one that
// fails. Made from the library's insides (jail/src); the library itself can leave nothing out.
#pragma once

#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jail/launcher.h"
#include "parent/launcher_state.h"
#include "parent/order.h"
#include "plan/plan.h"
#include "pool/template_host.h"

namespace edited {

enum class List : std::uint8_t { init, guest };

inline jail::CallList& calls_of(jail::Plan& plan, List list) {
  return list == List::init ? plan.init : plan.guest;
}

// The number of no system call: every kernel must answer ENOSYS.
inline constexpr std::int32_t unknown_call = 0x7fff;

// Replaces the call at `index` by another one without arguments, whose result is ignored.
inline void exchange(jail::Plan& plan, List list, std::size_t index, std::int32_t number) {
  jail::wire::Call call{};
  call.number = number;
  call.result_slot = jail::wire::slot_none;
  calls_of(plan, list).calls.at(index) = call;
}

// Removes the calls whose purpose fits. Returns how many those were.
template <class Fits>
std::size_t leave_out(jail::Plan& plan, const Fits& fits) {
  std::size_t count = 0;
  for (const List list : {List::init, List::guest}) {
    const std::vector<jail::CallText>& texts = calls_of(plan, list).texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!fits(texts[i].purpose)) continue;
      exchange(plan, list, i, SYS_getpid);
      ++count;
    }
  }
  return count;
}

// Launches a cold jail with exactly this plan.
inline jail::Result<jail::Jail> launch(const jail::Launcher& launcher, jail::Plan plan,
                                       const jail::Limits& limits) {
  const auto image = jail::to_image(plan);
  if (!image) return image.error();
  jail::JailOrder order;
  order.socket = jail::Launcher::State::of(launcher)->socket.get();
  order.image = image->get();
  order.plan = std::make_shared<const jail::Plan>(std::move(plan));
  order.limits = limits;
  order.ids = jail::Launcher::State::of(launcher)->ids.get();
  return jail::order_jail(order);
}

using Edit = std::function<void(jail::Plan&)>;

// A zygote with its host, and the jails that are forked from it.
class Template {
 public:
  // Empty edits leave a plan unchanged.
  static jail::Result<Template> start(const jail::Launcher& launcher,
                                      const jail::TemplateSpec& spec, const Edit& edit_host,
                                      const Edit& edit_jail) {
    auto plans = jail::TemplatePlans::make(spec, jail::Launcher::State::of(launcher)->host);
    if (!plans) return plans.error();
    Template made;
    made.limits_ = spec.jail.limits;
    made.ids_ = jail::Launcher::State::of(launcher)->ids;
    made.plans_ = std::make_unique<jail::TemplatePlans>(std::move(*plans));
    if (auto done = apply(edit_host, made.plans_->host, made.plans_->host_image); !done) {
      return done.error();
    }
    if (auto done = apply(edit_jail, made.plans_->jail, made.plans_->jail_image); !done) {
      return done.error();
    }
    auto host =
        jail::TemplateHost::start(jail::Launcher::State::of(launcher)->socket.get(), *made.plans_);
    if (!host) return host.error();
    made.host_ = std::make_unique<jail::TemplateHost>(std::move(*host));
    return made;
  }

  // Returns an Error if its zygote will never be ready.
  jail::Result<void> wait_until_ready(std::chrono::milliseconds at_most) {
    const auto deadline = std::chrono::steady_clock::now() + at_most;
    while (!host_->is_ready()) {
      if (auto done = host_->advance(); !done) return done;
      if (std::chrono::steady_clock::now() > deadline) {
        return jail::Error{jail::ErrorKind::timed_out, "wait for a zygote", ETIMEDOUT, {}};
      }
      pollfd watched{host_->control_fd(), POLLIN, 0};
      ::poll(&watched, 1, 20);
    }
    return {};
  }

  jail::Result<jail::Jail> order() const { return order(plans_->jail, plans_->jail_image); }

  // Each order has init's part; the zygote has had the guest's part since its start.
  jail::Result<jail::Jail> order(const Edit& edit_init) const {
    auto plan = plans_->jail;
    jail::Fd image;
    if (auto done = apply(edit_init, plan, image); !done) return done.error();
    return order(plan, image);
  }

  const jail::Plan& jail_plan() const { return *plans_->jail; }
  const jail::Plan& host_plan() const { return *plans_->host; }
  int zygote_fd() const { return host_->zygote_fd(); }

 private:
  Template() = default;

  static jail::Result<void> apply(const Edit& edit, std::shared_ptr<const jail::Plan>& plan,
                                  jail::Fd& image) {
    if (!edit) return {};
    jail::Plan changed = *plan;
    edit(changed);
    auto made = jail::to_image(changed);
    if (!made) return made.error();
    image = std::move(*made);
    plan = std::make_shared<const jail::Plan>(std::move(changed));
    return {};
  }

  jail::Result<jail::Jail> order(const std::shared_ptr<const jail::Plan>& plan,
                                 const jail::Fd& image) const {
    jail::JailOrder order;
    order.socket = host_->socket();
    order.image = image.get();
    order.plan = plan;
    order.limits = limits_;
    order.ids = ids_.get();
    order.guest_work = jail::wire::guest_ends_early;
    return jail::order_jail(order);
  }

  std::shared_ptr<jail::IdRange::State> ids_;
  std::unique_ptr<jail::TemplatePlans> plans_;  // the host looks at them
  std::unique_ptr<jail::TemplateHost> host_;
  jail::Limits limits_;
};

}  // namespace edited
