#include "runtime/sandbox/launchers.h"

#include <utility>

#include "runtime/sandbox/jail_handle.h"

namespace runtime {

using jail::Launcher;
using jail::Result;

Result<std::shared_ptr<Launchers>> Launchers::start(Options options) {
  const std::shared_ptr<Launchers> launchers(new Launchers(std::move(options)));
  if (auto made = launchers->make(); !made) return made.error();
  return launchers;
}

Result<void> Launchers::make() {
  if (options_.egress == Egress::by_request && (feed_ == nullptr || !feed_->is_alive())) {
    auto feed = EgressFeed::start(options_.executor, options_.on_egress);
    if (!feed) return feed.error();
    feed_ = std::move(*feed);
  }
  auto started = Launcher::start({.cgroups = options_.cgroups,
                                  .egress = feed_ == nullptr ? nullptr : feed_->proxy(),
                                  .ids = options_.ids});
  if (!started) return started.error();
  launcher_ = std::make_shared<Launcher>(std::move(*started));
  return {};
}

std::shared_ptr<Launcher> Launchers::current() const {
  const std::lock_guard lock(mutex_);
  return launcher_;
}

Result<std::shared_ptr<Launcher>> Launchers::living() {
  auto latest = current();
  return has_ended(*latest) ? after(latest) : latest;
}

Result<Launchers::Launched> Launchers::launch(const jail::JailSpec& spec,
                                              const std::shared_ptr<const void>& failed) {
  std::shared_ptr<Launcher> launcher = current();
  if (launcher != failed && !has_ended(*launcher)) {
    Result<jail::Jail> jail = launcher->launch(spec);
    if (jail) return Launched{std::move(*jail), std::move(launcher)};
    if (jail.error().kind != jail::ErrorKind::closed) return jail.error();
  }
  auto next = after(launcher);
  if (!next) return next.error();
  Result<jail::Jail> jail = (*next)->launch(spec);
  if (!jail) return jail.error();
  return Launched{std::move(*jail), std::move(*next)};
}

Result<std::shared_ptr<Launcher>> Launchers::after(const std::shared_ptr<Launcher>& dead) {
  const std::lock_guard lock(mutex_);
  if (launcher_ == dead) {
    if (auto made = make(); !made) return made.error();
  }
  return launcher_;
}

Result<std::shared_ptr<const jail::EgressProxy>> Launchers::egress() {
  const std::lock_guard lock(mutex_);
  if (options_.egress != Egress::by_request) return jail::invalid("network: there is no egress");
  if (feed_ == nullptr || !feed_->is_alive()) {
    if (auto made = make(); !made) return made.error();
  }
  return feed_->proxy();
}

boost::asio::awaitable<void> Launchers::catch_up() const {
  std::shared_ptr<EgressFeed> feed;
  {
    const std::lock_guard lock(mutex_);
    feed = feed_;
  }
  if (feed != nullptr) co_await feed->catch_up();
}

}  // namespace runtime
