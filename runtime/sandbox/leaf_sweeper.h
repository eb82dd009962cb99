// Tidies up after jails that have a cgroup.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "jail/cgroup.h"

namespace runtime {

// Removes the leaves whose last process was still ending when their jail was reported; otherwise an
// idle server would keep them until its next run.
class LeafSweeper : public std::enable_shared_from_this<LeafSweeper> {
 public:
  LeafSweeper(const boost::asio::any_io_executor& executor, jail::CgroupTree tree)
      : tree_(std::move(tree)), timer_(boost::asio::make_strand(executor)) {}

  void sweep_soon() {
    if (waiting_.exchange(true)) return;
    boost::asio::post(timer_.get_executor(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->wait();
    });
  }

 private:
  void wait() {
    timer_.expires_after(std::chrono::milliseconds(20));
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (error || self == nullptr) return;
      self->waiting_ = false;
      if (self->tree_.remove_ended() > 0) self->sweep_soon();
    });
  }

  const jail::CgroupTree tree_;
  boost::asio::steady_timer timer_;
  std::atomic<bool> waiting_{false};
};

}  // namespace runtime
