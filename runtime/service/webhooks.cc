#include "runtime/service/webhooks.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/observe/uuid.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using jail::Result;

constexpr const char* disabled_by_owner = "its owner disabled it";
constexpr const char* disabled_without_key =
    "its owner's key is not among those that the operator configured (API_KEYS)";

Refusal no_such_webhook() {
  return {.code = RefusalCode::no_such_webhook, .detail = "no such webhook"};
}

bool sees(const Principal& principal, const WebhookRow& row) {
  const auto owner = principal.sees();
  return !owner || *owner == row.owner;
}

void apply(WebhookRow& row, const WebhookChange& change) {
  if (change.url) row.url = *change.url;
  if (change.events) row.events = *change.events;
  if (change.name) row.name = *change.name;
  if (change.secret) {
    const auto& until = change.secret->former_until;
    row.former_secret.reset();
    if (until) row.former_secret = FormerSecret{std::move(row.secret), *until};
    row.secret = change.secret->secret;
  }
  if (!change.is_enabled) return;
  forgive(row);
  if (!*change.is_enabled) row.disabled = disabled_by_owner;
}

Refusal stopping() { return {.code = RefusalCode::stopping, .detail = "the server is stopping"}; }

}  // namespace

Webhooks::Webhooks(Jobs& jobs, SandboxHistory& history, Metrics& metrics, Logger& logger,
                   Options options)
    : jobs_(jobs),
      history_(history),
      metrics_(metrics),
      logger_(logger),
      options_(std::move(options)),
      destinations_(options_.allow),
      owners_(tenants_of(options_.keys, jobs)),
      table_(jobs.database()) {
  if (!destinations_.is_empty() && options_.are_events_kept) {
    sender_ = std::make_unique<WebhookSender>(destinations_);
  }
  restore();
}

Webhooks::~Webhooks() {
  end_.request();
  thread_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const Found& webhook : webhooks_) store_locked(webhook);
  }
  // Pending work of the writer uses this object.
  jobs_.writer().wait_until_done();
}

Refusal Webhooks::off() {
  return {.code = RefusalCode::webhooks_off,
          .detail =
              "webhooks are off: the operator names where they may lead in "
              "SANDBOX_WEBHOOKS_ALLOW, and keeps events (SANDBOX_EVENTS_KEPT)"};
}

void Webhooks::restore() {
  std::vector<WebhookRow> rows;
  const auto done = jobs_.writer().do_now([this, &rows]() -> Result<void> {
    auto all = table_.all();
    if (!all) return all.error();
    rows = std::move(*all);
    return {};
  });
  if (!done) {
    logger_.error("what was kept of webhooks cannot be read", {{"error", done.error().message()}});
    return;
  }
  const std::lock_guard lock(mutex_);
  for (WebhookRow& row : rows) {
    const auto webhook = std::make_shared<Webhook>();
    webhook->row = std::move(row);
    add_locked(webhook);
  }
}

void Webhooks::add_locked(const Found& webhook) {
  webhook->removed = draining_.child();
  webhooks_.push_back(webhook);
  begin_locked(webhook);
}

bool Webhooks::has_key(const std::string& owner) const {
  return std::find(owners_.begin(), owners_.end(), owner) != owners_.end();
}

std::optional<Refusal> Webhooks::why_not(std::string_view url) const {
  if (sender_ == nullptr) return off();
  if (const auto complaint = destinations_.why_not(url)) {
    return Refusal{.code = RefusalCode::bad_request, .detail = "url: " + *complaint};
  }
  return std::nullopt;
}

Webhooks::Or<Webhooks::Found> Webhooks::find_locked(const Principal& principal,
                                                    std::string_view id) const {
  for (const Found& webhook : webhooks_) {
    if (webhook->row.id == id && sees(principal, webhook->row)) return webhook;
  }
  return no_such_webhook();
}

Webhooks::View Webhooks::view_of(const Webhook& webhook) const {
  View view = webhook.row;
  if (!view.disabled.empty()) return view;
  if (!has_key(view.owner)) {
    view.disabled = disabled_without_key;
  } else if (const auto refusal = why_not(view.url)) {
    view.disabled = refusal->detail;
  }
  return view;
}

Refusal Webhooks::failed(const Caller& caller, const jail::Error& error) const {
  logger_.error("a webhook cannot be stored",
                {{"request_id", caller.request_id}, {"error", error.message()}});
  return {.code = RefusalCode::internal_server_error,
          .detail =
              "the webhook cannot be stored; the server's log has the reason under this "
              "request's id"};
}

std::optional<Refusal> Webhooks::reserve(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  auto own = static_cast<std::size_t>(std::count(under_way_.begin(), under_way_.end(), owner));
  for (const Found& webhook : webhooks_) own += webhook->row.owner == owner ? 1 : 0;
  if (own >= max_per_owner) {
    return Refusal{.code = RefusalCode::caller_limit,
                   .detail = "too many webhooks of this caller; delete one",
                   .limit = std::int64_t{max_per_owner},
                   .used = static_cast<std::int64_t>(own)};
  }
  under_way_.push_back(owner);
  return std::nullopt;
}

void Webhooks::give_back(const std::string& owner) {
  under_way_.erase(std::find(under_way_.begin(), under_way_.end(), owner));
}

awaitable<Webhooks::Or<Webhooks::View>> Webhooks::create(Caller caller, WebhookRequest request) {
  if (auto refusal = why_not(request.url)) co_return std::move(*refusal);
  const std::string owner = caller.principal.tenant;
  if (auto refusal = reserve(owner)) co_return std::move(*refusal);
  const auto webhook = std::make_shared<Webhook>();
  WebhookRow& row = webhook->row;
  row.id = random_text();
  row.owner = owner;
  row.created = std::chrono::system_clock::now();
  row.name = std::move(request.name);
  row.url = std::move(request.url);
  row.events = std::move(request.events);
  row.secret = make_webhook_secret();
  std::function<Result<std::uint64_t>()> add = [this, webhook] { return table_.add(webhook->row); };
  const auto cursor = co_await jobs_.writer().ask<std::uint64_t>(std::move(add));
  const std::lock_guard lock(mutex_);
  give_back(owner);
  if (!cursor) co_return failed(caller, cursor.error());
  row.cursor = *cursor;
  add_locked(webhook);
  co_return row;
}

std::vector<Webhooks::View> Webhooks::list(const Principal& principal) const {
  const std::lock_guard lock(mutex_);
  std::vector<View> views;
  for (const Found& webhook : webhooks_) {
    if (sees(principal, webhook->row)) views.push_back(view_of(*webhook));
  }
  return views;
}

Webhooks::Or<Webhooks::View> Webhooks::find(const Principal& principal, std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_locked(principal, id);
  if (const auto* const refusal = std::get_if<Refusal>(&found)) return *refusal;
  return view_of(*std::get<Found>(found));
}

jail::Result<void> Webhooks::put(const Webhook& webhook, const WebhookChange& change) {
  WebhookRow row;
  {
    const std::lock_guard lock(mutex_);
    row = webhook.row;
  }
  apply(row, change);
  return table_.put(row);
}

awaitable<Result<bool>> Webhooks::store(Found webhook, WebhookChange change) {
  std::function<Result<bool>()> put_it = [this, webhook, change]() -> Result<bool> {
    if (auto done = put(*webhook, change); !done) return done.error();
    return true;
  };
  co_return co_await jobs_.writer().ask<bool>(std::move(put_it));
}

awaitable<Webhooks::Or<Webhooks::View>> Webhooks::change(Caller caller, std::string id,
                                                         WebhookChange change) {
  Found webhook;
  {
    const std::lock_guard lock(mutex_);
    const auto found = find_locked(caller.principal, id);
    if (const auto* const refusal = std::get_if<Refusal>(&found)) co_return *refusal;
    webhook = std::get<Found>(found);
    const std::string& url = change.url ? *change.url : webhook->row.url;
    if (change.url || change.is_enabled.value_or(false)) {
      if (auto refusal = why_not(url)) co_return std::move(*refusal);
    }
  }
  const auto stored = co_await store(webhook, change);
  if (!stored) co_return failed(caller, stored.error());
  {
    const std::lock_guard lock(mutex_);
    // The webhook may have been removed meanwhile.
    const auto found = find_locked(caller.principal, id);
    if (const auto* const refusal = std::get_if<Refusal>(&found)) co_return *refusal;
    apply(webhook->row, change);
    begin_locked(webhook);
  }
  // A try that ended in between has stored the row as it was before.
  const WebhookChange nothing;
  const auto still = co_await store(webhook, nothing);
  if (!still) co_return failed(caller, still.error());
  co_return find(caller.principal, id);
}

awaitable<Webhooks::Or<Webhooks::View>> Webhooks::replace_secret(
    Caller caller, std::string id, std::chrono::milliseconds former_signs_for) {
  WebhookChange change;
  WebhookChange::NewSecret& replacement = change.secret.emplace();
  replacement.secret = make_webhook_secret();
  if (former_signs_for.count() > 0) {
    replacement.former_until = std::chrono::system_clock::now() + former_signs_for;
  }
  co_return co_await Webhooks::change(std::move(caller), std::move(id), std::move(change));
}

awaitable<std::optional<Refusal>> Webhooks::remove(Caller caller, std::string id) {
  Found webhook;
  {
    const std::lock_guard lock(mutex_);
    const auto found = find_locked(caller.principal, id);
    if (const auto* const refusal = std::get_if<Refusal>(&found)) co_return *refusal;
    webhook = std::get<Found>(found);
  }
  std::function<Result<bool>()> drop = [this, id]() -> Result<bool> {
    if (auto done = table_.remove(id); !done) return done.error();
    return true;
  };
  const auto dropped = co_await jobs_.writer().ask<bool>(std::move(drop));
  if (!dropped) co_return failed(caller, dropped.error());
  const std::lock_guard lock(mutex_);
  webhook->stop.request();
  webhook->removed.request();
  std::erase(webhooks_, webhook);
  co_return std::nullopt;
}

awaitable<Webhooks::Or<WebhookTry>> Webhooks::test(Caller caller, std::string id, Cancel gone) {
  WebhookRow row;
  Cancel removed;
  {
    const std::lock_guard lock(mutex_);
    const auto found = find_locked(caller.principal, id);
    if (const auto* const refusal = std::get_if<Refusal>(&found)) co_return *refusal;
    row = std::get<Found>(found)->row;
    removed = std::get<Found>(found)->removed;
  }
  if (auto refusal = why_not(row.url)) co_return std::move(*refusal);
  if (draining_.requested()) co_return stopping();
  const auto claim = tests_.claim(row.owner);
  if (!claim) {
    co_return Refusal{.code = RefusalCode::caller_limit,
                      .detail = "tests of this caller's webhooks are under way; wait for an answer",
                      .limit = std::int64_t{max_tests_per_owner},
                      .used = std::int64_t{max_tests_per_owner}};
  }
  const Cancel cancel = removed.child();
  const Cancel::Listener on_gone(std::move(gone), [cancel] { cancel.request(); });
  const auto now = std::chrono::system_clock::now();
  WebhookMessage message = test_message(now);
  std::vector<Secret> secrets = secrets_of(row, now);
  const WebhookSent sent =
      co_await sender_->send(row.owner, row.url, std::move(secrets), std::move(message), cancel);
  if (draining_.requested() && !is_delivery(sent)) co_return stopping();
  if (removed.requested() && !is_delivery(sent)) co_return no_such_webhook();
  co_return sent.attempt;
}

}  // namespace runtime
