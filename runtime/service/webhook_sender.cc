#include "runtime/service/webhook_sender.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/llm/backoff.h"
#include "runtime/llm/http_text.h"
#include "runtime/sandbox/admission.h"
#include "runtime/service/turn.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using std::chrono::system_clock;

constexpr std::chrono::milliseconds connect_timeout{5'000};
constexpr std::size_t max_head_bytes = 16u << 10;
constexpr std::size_t max_body_bytes = 64u << 10;
constexpr int gone = 410;

bool is_success(int status) { return status >= 200 && status < 300; }

llm::HttpClientOptions client_options(const WebhookDestinations& destinations) {
  llm::HttpClientOptions options;
  options.user_agent = "agent-sandbox-webhooks";
  options.connect_timeout = connect_timeout;
  options.heads_only = true;
  options.max_head_bytes = max_head_bytes;
  options.max_reply_bytes = max_body_bytes;
  options.may_connect = [&destinations](const sockaddr& address) {
    return destinations.may_connect(address);
  };
  return options;
}

std::string why_no_delivery(int status) {
  std::string text = "it answered " + std::to_string(status);
  if (status >= 300 && status < 400) text += ", and redirects are not followed";
  return text;
}

void note_status(WebhookSent& sent, int status) {
  sent.attempt.status = status;
  sent.is_gone = status == gone;
  sent.attempt.error = is_success(status) ? std::string() : why_no_delivery(status);
}

void note_fault(WebhookSent& sent, const llm::HttpFault& fault) {
  sent.attempt.error = fault.text;
  if (fault.kind == llm::HttpFault::forbidden) {
    sent.attempt.error +=
        ": it is not public, and SANDBOX_WEBHOOKS_ALLOW, which is the operator's, does not name it";
  }
}

// An accepted URL (WebhookDestinations) has an address in digits, one in brackets, or a name.
bool has_name(std::string_view url) {
  const std::string origin = llm::origin_of(url);
  std::string_view host = origin;
  host.remove_prefix(host.find("://") + 3);
  return !host.starts_with('[') && std::any_of(host.begin(), host.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  });
}

// The awaiting coroutine may be destroyed at any time, so the destructor reports that the look-up
// is abandoned.
class Lookup {
 public:
  Lookup(std::shared_ptr<AbandonedLookups> abandoned, std::string owner)
      : abandoned_(std::move(abandoned)), owner_(std::move(owner)) {}
  ~Lookup() {
    if (!is_over_) abandoned_->note(owner_, AbandonedLookups::Clock::now());
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  void is_over() noexcept { is_over_ = true; }

 private:
  const std::shared_ptr<AbandonedLookups> abandoned_;
  const std::string owner_;
  bool is_over_ = false;
};

bool was_broken_off(const llm::HttpOutcome& outcome) {
  const auto* const fault = std::get_if<llm::HttpFault>(&outcome);
  return fault != nullptr && fault->kind == llm::HttpFault::cancelled;
}

}  // namespace

struct WebhookSender::Turns {
  static constexpr std::uint32_t no_bound = std::numeric_limits<std::uint32_t>::max();

  Admission& of(const std::string& owner) {
    const std::lock_guard lock(mutex);
    return of_owners.try_emplace(owner, max_per_owner, no_bound).first->second;
  }

  Admission all{max_at_once, no_bound};
  std::mutex mutex;
  std::map<std::string, Admission> of_owners;  // as many as there are keys
};

WebhookSender::WebhookSender(const WebhookDestinations& destinations)
    : turns_(std::make_shared<Turns>()), client_(client_options(destinations)) {}

asio::awaitable<WebhookSent> WebhookSender::send(std::string owner, std::string url,
                                                 std::vector<Secret> secrets,
                                                 WebhookMessage message, Cancel cancel) {
  // The shares keep both alive for a wait that outlasts this object.
  const std::shared_ptr<Turns> turns = turns_;
  const std::shared_ptr<AbandonedLookups> abandoned = abandoned_;
  const auto own = co_await place_of(turns->of(owner), owner, cancel);
  const auto turn = co_await place_of(turns->all, owner, cancel);
  WebhookSent sent;
  sent.attempt.at = system_clock::now();
  sent.attempt.event = message.type;
  if (cancel.requested()) {
    sent.attempt.error = "cancelled";
    co_return sent;
  }
  std::optional<Lookup> lookup;
  if (has_name(url)) {
    if (abandoned->has_too_many(owner, AbandonedLookups::Clock::now())) {
      sent.attempt.error =
          "too many sends of yours were broken off while names may have been looked up: try again "
          "in " +
          std::to_string(AbandonedLookups::longest_lookup.count()) + " seconds";
      co_return sent;
    }
    lookup.emplace(abandoned, std::move(owner));
  }
  llm::HttpRequest request;
  request.method = "POST";
  request.url = std::move(url);
  request.headers = webhook_headers(message, secrets, sent.attempt.at);
  request.body = std::move(message.body);
  llm::FetchOptions options;
  options.deadline = std::chrono::steady_clock::now() + max_time;
  options.cancel = std::move(cancel);
  const llm::HttpOutcome outcome = co_await client_.fetch(std::move(request), std::move(options));
  if (lookup && !was_broken_off(outcome)) lookup->is_over();
  if (const auto* const reply = std::get_if<llm::HttpReply>(&outcome)) {
    note_status(sent, reply->status);
    sent.asked_wait = llm::asked_wait(*reply, system_clock::now());
  } else {
    note_fault(sent, std::get<llm::HttpFault>(outcome));
  }
  co_return sent;
}

}  // namespace runtime
