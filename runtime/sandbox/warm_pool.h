// The jails of one template that wait, and the requests that wait for one of them. Drives a pool of
// jails on an Asio executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "jail/pool.h"
#include "runtime/sandbox/jail_handle.h"
#include "runtime/sandbox/time_source.h"

namespace runtime {

struct Leased {
  std::unique_ptr<JailHandle> jail;
  bool pooled = false;  // made for a pool: start() takes the run's own limits
  bool warm = false;    // it waited, or is a fork of a warm interpreter
  // The template that it is made from or has the root and policy of; empty: none.
  std::string template_name{};
  JailMaker maker{};  // null where that was a template's host
};

// Thread-safe.
class WarmPool : public std::enable_shared_from_this<WarmPool> {
 public:
  // Opens a pool whose maker lives; asked again when that one has ended.
  using Open = std::function<jail::Result<std::shared_ptr<PoolHandle>>(const jail::TemplateSpec&,
                                                                       const jail::PoolOptions&)>;
  // Called when no jail can be made, with the reason, and with nothing when that is over.
  using Troubled = std::function<void(std::string_view name, std::string_view reason)>;
  // Dropping it ends the wait.
  using Ticket = std::shared_ptr<std::function<void(jail::Result<Leased>)>>;
  // Called where somebody has to wait, who keeps the ticket. Must not use the pool.
  using MakeTicket = std::function<Ticket()>;

  WarmPool(const boost::asio::any_io_executor& executor, std::shared_ptr<const TimeSource> clock,
           Open open, jail::TemplateSpec spec, jail::PoolOptions options, Troubled troubled);
  ~WarmPool();

  // Begins to make jails. Without effect while it does so already.
  void open();

  // For a pool that has never had a jail ready: whether to wait for it.
  enum class Patience : std::uint8_t { none, until_ready };

  // A jail, for `invocation` where there is one; or nothing, and its ticket is called once a jail
  // can be had: with as many waiting as the pool can make, who came first gets the next one. An
  // Error says that this pool has no jail for the request, now or soon: make one without it.
  std::optional<jail::Result<Leased>> take(const std::optional<jail::Invocation>& invocation,
                                           Patience patience, const MakeTicket& make_ticket);

  // Ends a jail that nobody waits for, ready or being made. False: there is none.
  bool give_up_one();

  const jail::TemplateSpec& spec() const noexcept { return spec_; }
  jail::PoolState state() const;

 private:
  struct Waiter {
    std::weak_ptr<std::function<void(jail::Result<Leased>)>> ticket;
    std::optional<jail::Invocation> invocation;
  };
  using Served = std::deque<std::pair<Ticket, jail::Result<Leased>>>;

  void post(void (WarmPool::*what)());
  void open_now();
  void reopen();
  void close();
  bool fails_for_nobody() const;
  void watch();
  void on_event();
  void serve(Served& served);
  void note_state();
  void tell_trouble(const std::string& trouble);
  jail::Result<Leased> lease(PoolHandle& pool, const std::optional<jail::Invocation>& invocation);

  boost::asio::strand<boost::asio::any_io_executor> strand_;
  const std::shared_ptr<const TimeSource> clock_;
  const Open open_;
  const jail::TemplateSpec spec_;
  const jail::PoolOptions options_;
  const Troubled troubled_;

  mutable std::mutex mutex_;
  std::shared_ptr<PoolHandle> pool_;  // null until it is open
  jail::PoolState past_;              // counts of pools that were closed
  std::deque<Waiter> waiting_;
  std::string trouble_;
  bool opening_ = false;
  bool been_ready_ = false;
  TimeSource::Time next_try_{};
  TimeSource::Time asked_at_{};
  // The strand's, without the lock.
  boost::asio::posix::stream_descriptor event_;
  std::string told_;
};

}  // namespace runtime
