// Describes the failure of a provider for a person, without any secret.
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

// Returns `text` without the parts that it shares with the secret: the whole secret, and any part
// of it that is long enough to be of use. Providers repeat keys, usually in part.
std::string redacted(std::string text, const Secret& secret);

// Returns foreign text as a part of one line: UTF-8, without control characters and the secret, of
// at most `max_bytes` including the mark for a cut.
std::string foreign_text(std::string_view text, const Secret& secret, std::size_t max_bytes = 300);

// Returns "GROQ_API_KEY" for groq and "_API_KEY".
std::string variable_of(std::string_view provider, std::string_view suffix);

// Returns a URL without user, password and query, which may hold secrets.
std::string shown_url(std::string_view url);

// The facts about a call that the description of its failure needs.
struct CallStory {
  std::string model;  // empty: the call was not about a model
  std::uint32_t tries = 1;
  std::chrono::milliseconds deadline{0};
};

Failure failure_of(const Endpoint& endpoint, const CallStory& story, const ProviderFault& fault,
                   std::optional<std::chrono::milliseconds> retry_after);
Failure failure_of(const Endpoint& endpoint, const CallStory& story, const HttpFault& fault);

}  // namespace runtime::llm
