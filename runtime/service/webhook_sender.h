// Sends one message to one webhook, once.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/llm/http_client.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/service/abandoned_lookups.h"
#include "runtime/service/webhook_destinations.h"
#include "runtime/service/webhook_message.h"
#include "runtime/service/webhook_patience.h"

namespace runtime {

// Thread-safe. The destructor cancels sends under way.
class WebhookSender {
 public:
  // The tries that an owner may have under way: one for each of its webhooks, and two tests.
  static constexpr std::uint32_t max_per_owner = 12;
  // The tries that all owners together may have under way, in turns. It takes more than forty
  // owners to keep another one waiting.
  static constexpr std::uint32_t max_at_once = 512;
  // The time from looking the name up to the end of the answer's head.
  static constexpr std::chrono::seconds max_time{10};

  // `destinations` must outlive it. Throws std::system_error where the host has no threads or
  // descriptors left.
  explicit WebhookSender(const WebhookDestinations& destinations);

  // Waits for a turn first, unless `cancel` is requested. Fails at once where cancelled sends of
  // the owner have abandoned too many look-ups of names (AbandonedLookups); sends that ran out of
  // time keep their turn instead. Only an answer 2xx is a delivery; its body is not read, and no
  // redirect is followed. Where `cancel` is requested the result is meaningless.
  boost::asio::awaitable<WebhookSent> send(std::string owner, std::string url,
                                           std::vector<Secret> secrets, WebhookMessage message,
                                           Cancel cancel);

 private:
  struct Turns;

  const std::shared_ptr<Turns> turns_;
  const std::shared_ptr<AbandonedLookups> abandoned_ = std::make_shared<AbandonedLookups>();
  llm::HttpClient client_;
};

}  // namespace runtime
