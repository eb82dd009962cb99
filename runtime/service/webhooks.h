// Webhooks: send the events of an owner's sandboxes to a URL that the owner names.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/observe/logger.h"
#include "runtime/observe/metrics.h"
#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/service/authentication.h"
#include "runtime/service/principal.h"
#include "runtime/service/sandbox_history.h"
#include "runtime/service/webhook_destinations.h"
#include "runtime/service/webhook_message.h"
#include "runtime/service/webhook_patience.h"
#include "runtime/service/webhook_requests.h"
#include "runtime/service/webhook_sender.h"
#include "runtime/store/jobs.h"
#include "runtime/store/webhook_table.h"

namespace runtime {

// Thread-safe. Each webhook is a cursor over the stored events of its owner. A coroutine of its own
// sends one event after the other, each until it is delivered; all coroutines share one thread. So
// no webhook waits for another, and the next server knows what was delivered. The destructor waits
// for no delivery: the next server continues. Errors of the disk are refusals with
// RefusalCode::internal_server_error, and logged.
class Webhooks {
 public:
  struct Options {
    std::vector<std::string> allow{};  // the rules of WebhookDestinations; empty: no webhook is
                                       // made or sent to
    WebhookPatience patience{};
    bool are_events_kept = true;  // where false there are no events to send
    std::vector<ApiKey> keys{};   // the keys whose owners exist; empty: everybody is one owner
  };

  static constexpr std::size_t max_per_owner = 10;
  static constexpr std::uint32_t max_tests_per_owner = 2;  // at a time

  // Referenced objects must outlive it, and it must outlive everything that uses it. Waits for the
  // disk. Throws std::system_error where the host has no threads or descriptors left.
  Webhooks(Jobs& jobs, SandboxHistory& history, Metrics& metrics, Logger& logger, Options options);
  ~Webhooks();
  Webhooks(const Webhooks&) = delete;
  Webhooks& operator=(const Webhooks&) = delete;

  template <class Answer>
  using Or = std::variant<Answer, Refusal>;

  // The state of a webhook. `disabled` is also set where the operator does not allow it any more,
  // or has removed its owner's key.
  using View = WebhookRow;

  // The refusal that there are no webhooks, also for a server without a Webhooks object.
  static Refusal off();

  // Returns when the disk has the webhook; events from then on are sent.
  boost::asio::awaitable<Or<View>> create(Caller caller, WebhookRequest request);
  // Returns the oldest first.
  std::vector<View> list(const Principal& principal) const;
  // not_found also where it belongs to another owner.
  Or<View> find(const Principal& principal, std::string_view id) const;
  // Where the disk fails, nothing has changed.
  boost::asio::awaitable<Or<View>> change(Caller caller, std::string id, WebhookChange change);
  // The same. The former secret signs beside the new one for the given time, which may be zero.
  boost::asio::awaitable<Or<View>> replace_secret(Caller caller, std::string id,
                                                  std::chrono::milliseconds former_signs_for);
  // The same. A try or test under way is cancelled.
  boost::asio::awaitable<std::optional<Refusal>> remove(Caller caller, std::string id);
  // Sends test_message() once, whatever waits for delivery.
  boost::asio::awaitable<Or<WebhookTry>> test(Caller caller, std::string id, Cancel gone);

  // Refuses tests from now on, and cancels those under way. Deliveries go on.
  void drain() { draining_.request(); }

 private:
  struct Webhook {
    WebhookRow row;
    Cancel removed;              // cancels its tests
    Cancel stop;                 // cancels its coroutine's work; replaced with each change
    bool is_running = false;     // its coroutine exists; there is never a second one
    std::uint64_t unstored = 0;  // events that were skipped since the row was stored
  };
  using Found = std::shared_ptr<Webhook>;

  void restore();
  std::optional<Refusal> why_not(std::string_view url) const;
  bool has_key(const std::string& owner) const;
  void add_locked(const Found& webhook);
  Or<Found> find_locked(const Principal& principal, std::string_view id) const;
  View view_of(const Webhook& webhook) const;
  std::optional<Refusal> reserve(const std::string& owner);
  void give_back(const std::string& owner);
  // Stores the webhook's state at the time of the write, with `change`.
  jail::Result<void> put(const Webhook& webhook, const WebhookChange& change = {});
  boost::asio::awaitable<jail::Result<bool>> store(Found webhook, WebhookChange change);
  Refusal failed(const Caller& caller, const jail::Error& error) const;

  // Stops the coroutine's work, and begins anew where the webhook is enabled.
  void begin_locked(const Found& webhook);
  // The coroutine of a webhook: runs until it must stop and not begin anew.
  boost::asio::awaitable<void> run(Found webhook);
  std::optional<Cancel> next_stop(const Found& webhook);
  boost::asio::awaitable<void> deliver(Found webhook, Cancel stop);
  // Returns false where the page is not done: a try failed, or everything is to stop.
  boost::asio::awaitable<bool> deliver_page(Found webhook, SandboxEventPage page, Cancel stop);
  boost::asio::awaitable<bool> deliver_event(Found webhook, SandboxEvent event, Cancel stop);
  std::chrono::steady_clock::time_point time_of_next_try(const Found& webhook) const;
  void note_missed(Webhook& webhook, const SandboxEventPage& page);
  void skip(const Found& webhook, std::uint64_t number);
  void note_sent(const Found& webhook, const SandboxEvent& event, const WebhookSent& sent,
                 const Cancel& stop);
  void store_locked(const Found& webhook);

  Jobs& jobs_;
  SandboxHistory& history_;
  Metrics& metrics_;
  Logger& logger_;
  const Options options_;
  const WebhookDestinations destinations_;
  const std::vector<std::string> owners_;  // all existing owners
  WebhookTable table_;                     // used by the writer's thread alone
  std::unique_ptr<WebhookSender> sender_;  // null: nothing is sent
  const Cancel end_;
  const Cancel draining_;
  // Bounds concurrent tests.
  Admission tests_{0, 0, max_tests_per_owner};

  mutable std::mutex mutex_;
  std::vector<Found> webhooks_;         // the oldest first
  std::vector<std::string> under_way_;  // owners of webhooks that are being made
  std::mt19937_64 chance_{std::random_device()()};
  boost::asio::thread_pool thread_{1};
};

}  // namespace runtime
