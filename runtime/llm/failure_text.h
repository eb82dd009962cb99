// What went wrong with a provider, in words for a person that hold no secret.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/config/secret.h"
#include "runtime/llm/http_client.h"
#include "runtime/llm/wire_format.h"

namespace runtime::llm {

// `text` without what it shares with the secret: the whole of it, and any stretch long enough to be
// of use to somebody. Providers repeat keys, in part as a rule.
std::string redacted(std::string text, const Secret& secret);

// Somebody else's words as a part of one line: UTF-8, without control characters and the secret, of
// at most `max_bytes` with the mark that shows the cut.
std::string foreign_text(std::string_view text, const Secret& secret, std::size_t max_bytes = 300);

// "GROQ_API_KEY" for groq and "_API_KEY".
std::string variable_of(std::string_view provider, std::string_view suffix);

// A URL without user, password and question, which may hold secrets.
std::string shown_url(std::string_view url);

// What a call was, for the words about its failure.
struct CallStory {
  std::string model;  // empty: the call was about no model
  std::uint32_t tries = 1;
  std::chrono::milliseconds deadline{0};
};

Failure failure_of(const Endpoint& endpoint, const CallStory& story, const ProviderFault& fault,
                   std::optional<std::chrono::milliseconds> retry_after);
Failure failure_of(const Endpoint& endpoint, const CallStory& story, const HttpFault& fault);

}  // namespace runtime::llm
