// The waiting jails of one template, and the requests that wait for one of them. Drives a pool of
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
  bool pooled = false;  // made for a pool: start() takes the run's limits
  bool warm = false;    // it waited, or is a fork of a warm interpreter
  // The template that the jail is made from, or whose root and policy it has; empty: none.
  std::string template_name{};
  JailMaker maker{};  // null where a template's host made it
  // Whether that process has ended. A jail of which it has said nothing by then never is ready.
  // Empty: the jail is ready, or ends with its maker.
  std::function<bool()> maker_has_ended{};
};

// Thread-safe.
class WarmPool : public std::enable_shared_from_this<WarmPool> {
 public:
  // Opens a pool whose launcher lives; called again when that one has ended.
  using Open = std::function<jail::Result<std::shared_ptr<PoolHandle>>(const jail::TemplateSpec&,
                                                                       const jail::PoolOptions&)>;
  // Called with the reason when no jail can be made, and with an empty reason when that is over.
  using Troubled = std::function<void(std::string_view name, std::string_view reason)>;
  // Dropping the ticket ends the wait.
  using Ticket = std::shared_ptr<std::function<void(jail::Result<Leased>)>>;
  // Makes the ticket of a caller that has to wait. The caller keeps it. Must not use the pool.
  using MakeTicket = std::function<Ticket()>;

  WarmPool(const boost::asio::any_io_executor& executor, std::shared_ptr<const TimeSource> clock,
           Open open, jail::TemplateSpec spec, jail::PoolOptions options, Troubled troubled);
  ~WarmPool();

  // Begins to make jails. Has no effect where it already does.
  void open();

  // Whether to wait for a pool that has never had a jail ready.
  enum class Patience : std::uint8_t { none, until_ready };

  // Returns a jail, for `invocation` where there is one; or std::nullopt, in which case the ticket
  // is called once a jail can be had. Where as many callers wait as the pool can make jails, the
  // first one gets the next jail. An Error says that this pool has no jail for the request, now or
  // soon: the caller has to make one without it.
  std::optional<jail::Result<Leased>> take(const std::optional<jail::Invocation>& invocation,
                                           Patience patience, const MakeTicket& make_ticket);

  // Returns a living jail of the template. Errors: as jail::Pool::launch_living(); exhausted
  // without an errno where the pool is yet to begin, or makes as many jails as it may.
  jail::Result<LaunchedLiving> launch_living(const jail::Limits& limits,
                                             const jail::Limits& max_limits);

  // Ends a jail that nobody waits for, ready or being made. Returns false where there is none.
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
  jail::Result<Leased> lease(const std::shared_ptr<PoolHandle>& pool,
                             const std::optional<jail::Invocation>& invocation);

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
  // Used on the strand, without the lock.
  boost::asio::posix::stream_descriptor event_;
  std::string told_;
};

}  // namespace runtime
