// The proxy that is the way out of jails; passes its decisions on as they are made.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

#include "jail/egress.h"
#include "jail/result.h"

namespace runtime {

using OnEgress = std::function<void(const jail::EgressDecision&)>;

// Thread-safe. Lives until its proxy is gone or nobody holds it.
class EgressFeed : public std::enable_shared_from_this<EgressFeed> {
 public:
  // `on_egress` is called on `executor`, one call after the other; empty: decisions are dropped.
  static jail::Result<std::shared_ptr<EgressFeed>> start(
      const boost::asio::any_io_executor& executor, OnEgress on_egress);

  std::shared_ptr<const jail::EgressProxy> proxy() const { return proxy_; }
  bool is_alive() const;
  // Passes on all decisions up to now, including those behind every answer that a program has seen.
  boost::asio::awaitable<void> catch_up();

 private:
  EgressFeed(const boost::asio::any_io_executor& executor, jail::EgressProxy proxy,
             OnEgress on_egress);
  void wait();
  bool pass_on();

  const std::shared_ptr<jail::EgressProxy> proxy_;
  const OnEgress on_egress_;
  boost::asio::posix::stream_descriptor events_;  // the proxy's descriptor, not owned
};

}  // namespace runtime
