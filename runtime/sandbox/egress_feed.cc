#include "runtime/sandbox/egress_feed.h"

#include <fcntl.h>
#include <poll.h>

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <utility>

#include "runtime/sandbox/elsewhere.h"

namespace runtime {

namespace asio = boost::asio;

jail::Result<std::shared_ptr<EgressFeed>> EgressFeed::start(const asio::any_io_executor& executor,
                                                            OnEgress on_egress) {
  auto proxy = jail::EgressProxy::start();
  if (!proxy) return proxy.error();
  // A copy of the descriptor, since Asio closes the one that it watches.
  jail::Fd events(::fcntl(proxy->event_fd(), F_DUPFD_CLOEXEC, 0));
  if (!events.valid()) {
    return jail::Error{jail::ErrorKind::exhausted, "duplicate a descriptor", errno,
                       "raise the limit of open files (ulimit -n)"};
  }
  const std::shared_ptr<EgressFeed> feed(
      new EgressFeed(executor, std::move(*proxy), std::move(on_egress)));
  feed->events_.assign(events.release());
  asio::post(feed->events_.get_executor(), [weak = feed->weak_from_this()] {
    if (const auto self = weak.lock()) self->wait();
  });
  return feed;
}

EgressFeed::EgressFeed(const asio::any_io_executor& executor, jail::EgressProxy proxy,
                       OnEgress on_egress)
    : proxy_(std::make_shared<jail::EgressProxy>(std::move(proxy))),
      on_egress_(std::move(on_egress)),
      events_(asio::make_strand(executor)) {}

bool EgressFeed::is_alive() const {
  pollfd ended{.fd = proxy_->process_fd(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) == 0;
}

void EgressFeed::wait() {
  events_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [weak = weak_from_this()](const boost::system::error_code& error) {
                       const auto self = weak.lock();
                       if (!error && self != nullptr && self->pass_on()) self->wait();
                     });
}

// Returns false where the proxy is gone, so that no more decisions can come.
bool EgressFeed::pass_on() {
  const auto decisions = proxy_->decisions();
  if (!decisions) return false;
  if (on_egress_) {
    for (const jail::EgressDecision& decision : *decisions) on_egress_(decision);
  }
  return true;
}

asio::awaitable<void> EgressFeed::catch_up() {
  auto work = [self = shared_from_this()] { return self->pass_on(); };
  co_await do_elsewhere(events_.get_executor(), std::move(work));
}

}  // namespace runtime
