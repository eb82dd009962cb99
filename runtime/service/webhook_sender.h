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

// Thread-safe. Its end cancels what is under way.
class WebhookSender {
 public:
  // An owner may have one try of each of its webhooks under way, and two tests.
  static constexpr std::uint32_t max_per_owner = 12;
  // All owners together may have so many tries under way, and they take turns. More than forty
  // owners are needed to keep another one waiting.
  static constexpr std::uint32_t max_at_once = 512;
  // From looking the name up to the end of the answer's head.
  static constexpr std::chrono::seconds max_time{10};

  // `destinations` outlives it. std::system_error where the host has no threads or descriptors
  // left.
  explicit WebhookSender(const WebhookDestinations& destinations);

  // Waits for a turn first, until `cancel` is requested. Fails at once where the owner's sends that
  // were broken off have left too many look-ups of names behind (AbandonedLookups); those that ran
  // out of time kept their turn. Only an answer 2xx is a delivery; its body is not read, and no
  // redirect is followed. Where `cancel` is requested what is returned says nothing.
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
