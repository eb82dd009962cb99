// The delivery of events to each webhook.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <utility>

#include "runtime/living/bell.h"
#include "runtime/service/webhooks.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// A webhook that waits for its receiver holds at most this many events, which may be large.
constexpr std::uint32_t max_per_page = 20;
// The pause between looks at the store, so that one look finds all events of that time.
constexpr std::chrono::milliseconds rest_between_looks{50};
constexpr std::chrono::seconds rest_of_a_store_that_fails{10};
// After a restart at most this many events are looked at again that no webhook wanted.
constexpr std::uint64_t max_unstored = 256;

// Waits until that time, or until `cancel` is requested.
awaitable<void> rest_until(steady_clock::time_point time, Cancel cancel) {
  const auto bell = Bell::create(co_await asio::this_coro::executor);
  const Cancel::Listener on_cancel(cancel, [bell] { Bell::ring(bell); });
  if (!cancel.requested()) co_await bell->wait(time);
}

}  // namespace

void Webhooks::begin_locked(const Found& webhook) {
  webhook->stop.request();
  if (!view_of(*webhook).disabled.empty()) return;
  webhook->stop = end_.child();
  if (webhook->is_running) return;  // the running coroutine continues with the new state
  webhook->is_running = true;
  asio::co_spawn(thread_, run(webhook), asio::detached);
}

awaitable<void> Webhooks::run(Found webhook) {
  while (const auto stop = next_stop(webhook)) co_await deliver(webhook, *stop);
}

// Returns std::nullopt where the coroutine must end.
std::optional<Cancel> Webhooks::next_stop(const Found& webhook) {
  const std::lock_guard lock(mutex_);
  webhook->is_running = !webhook->stop.requested();
  return webhook->is_running ? std::optional(webhook->stop) : std::nullopt;
}

awaitable<void> Webhooks::deliver(Found webhook, Cancel stop) {
  EventNews& news = history_.news();
  const std::string owner = webhook->row.owner;
  for (;;) {
    co_await rest_until(time_of_next_try(webhook), stop);
    if (stop.requested()) co_return;
    const std::uint64_t seen = news.count(owner);
    SandboxEventQuery query;
    query.owner = owner;
    query.limit = max_per_page;
    {
      const std::lock_guard lock(mutex_);
      query.after = webhook->row.cursor;
    }
    auto page = co_await history_.events(std::move(query));
    if (!page) {
      logger_.error("events for webhooks cannot be read", {{"error", page.error().message()}});
      co_await rest_until(steady_clock::now() + rest_of_a_store_that_fails, stop);
      continue;
    }
    const bool has_more = page->has_more;
    const bool is_done = co_await deliver_page(webhook, std::move(*page), stop);
    if (has_more || !is_done) continue;
    co_await news.wait(owner, seen, Bell::Time::max(), stop);
    co_await rest_until(steady_clock::now() + rest_between_looks, stop);
  }
}

awaitable<bool> Webhooks::deliver_page(Found webhook, SandboxEventPage page, Cancel stop) {
  note_missed(*webhook, page);
  for (SandboxEvent& event : page.events) {
    if (stop.requested()) co_return false;
    bool is_wanted = false;
    {
      const std::lock_guard lock(mutex_);
      const auto& wanted = webhook->row.events;
      is_wanted = std::find(wanted.begin(), wanted.end(), event.kind) != wanted.end();
    }
    if (!is_wanted) {
      skip(webhook, event.number);
      continue;
    }
    const bool is_delivered = co_await deliver_event(webhook, std::move(event), stop);
    if (!is_delivered) co_return false;
  }
  co_return true;
}

// Tries to deliver the event once.
awaitable<bool> Webhooks::deliver_event(Found webhook, SandboxEvent event, Cancel stop) {
  WebhookRow row;
  {
    const std::lock_guard lock(mutex_);
    row = webhook->row;
  }
  WebhookMessage message = message_of(event);
  std::vector<Secret> secrets = secrets_of(row, system_clock::now());
  const WebhookSent sent =
      co_await sender_->send(row.owner, row.url, std::move(secrets), std::move(message), stop);
  note_sent(webhook, event, sent, stop);
  co_return is_delivery(sent);
}

steady_clock::time_point Webhooks::time_of_next_try(const Found& webhook) const {
  const auto now = steady_clock::now();
  const std::lock_guard lock(mutex_);
  const auto& next = webhook->row.next_try;
  if (!next) return now;
  // The bound keeps a clock that was set back from prolonging the wait.
  return now + std::min<system_clock::duration>(*next - system_clock::now(),
                                                options_.patience.backoff.cap);
}

void Webhooks::note_missed(Webhook& webhook, const SandboxEventPage& page) {
  const std::lock_guard lock(mutex_);
  WebhookRow& row = webhook.row;
  // The cursor's numbers belong to another store.
  if (row.cursor > page.newest) row.cursor = 0;
  if (page.oldest <= row.cursor + 1) return;
  row.missed += page.oldest - row.cursor - 1;
  row.cursor = page.oldest - 1;
}

void Webhooks::skip(const Found& webhook, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  webhook->row.cursor = number;
  if (++webhook->unstored >= max_unstored) store_locked(webhook);
}

void Webhooks::note_sent(const Found& webhook, const SandboxEvent& event, const WebhookSent& sent,
                         const Cancel& stop) {
  const std::lock_guard lock(mutex_);
  WebhookRow& row = webhook->row;
  if (is_delivery(sent)) row.cursor = event.number;
  // The code that requested the stop has decided the webhook's state meanwhile.
  if (!stop.requested()) {
    metrics_.webhooks.add({is_delivery(sent) ? "delivered" : "failed"});
    note_try(row, sent, options_.patience, std::uniform_real_distribution<double>()(chance_));
    if (!row.disabled.empty()) {
      logger_.warning("webhook disabled", {{"webhook_id", row.id}, {"reason", row.disabled}});
      stop.request();
    }
  }
  store_locked(webhook);
}

void Webhooks::store_locked(const Found& webhook) {
  webhook->unstored = 0;
  jobs_.writer().add([this, webhook] { return put(*webhook); }, sizeof(WebhookRow));
}

}  // namespace runtime
