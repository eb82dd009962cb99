#include "runtime/llm/failure_text.h"

#include <algorithm>
#include <utility>

#include "runtime/json/writer.h"

namespace runtime::llm {
namespace {

// A shorter part of a key is of no use to anybody.
constexpr std::size_t telling_bytes = 8;
constexpr std::string_view mark = "[redacted]";

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// A key of a few letters is a part of many words; it is redacted only where it stands alone.
bool stands_alone(std::string_view text, std::size_t at, std::size_t size) {
  return (at == 0 || !is_word(text[at - 1])) &&
         (at + size == text.size() || !is_word(text[at + size]));
}

// The number of bytes from `at` on that occur somewhere in the key.
std::size_t shared_bytes(std::string_view text, std::size_t at, std::string_view key) {
  std::size_t longest = 0;
  for (std::size_t start = 0; start + longest < key.size(); ++start) {
    std::size_t size = 0;
    while (at + size < text.size() && start + size < key.size() &&
           text[at + size] == key[start + size]) {
      ++size;
    }
    longest = std::max(longest, size);
  }
  return longest;
}

std::string duration_text(std::chrono::milliseconds duration) {
  json::Writer writer;
  writer.number(static_cast<double>(duration.count()) / 1000);
  return std::move(writer).take() + " s";
}

std::string tries_text(std::uint32_t tries) {
  return tries == 1 ? std::string() : "; tried " + std::to_string(tries) + " times";
}

// The advice for the operator or caller.
std::string advice(const Endpoint& endpoint, const CallStory& story, const ProviderFault& fault,
                   const std::optional<std::chrono::milliseconds>& retry_after) {
  const std::string& provider = endpoint.provider;
  const std::string url_variable = variable_of(provider, "_BASE_URL");
  switch (fault.fault) {
    case Fault::unauthorized:
      if (fault.status == 402) {
        return "; the account of " + variable_of(provider, "_API_KEY") + " needs credit";
      }
      return "; check " + variable_of(provider, "_API_KEY");
    case Fault::not_found: {
      if (story.model.empty()) return "; check " + url_variable;
      const std::string set = "; model " + json::quoted(story.model) + ": ";
      const std::string pull =
          provider == "ollama" ? "`ollama pull` it, or set " : std::string("set ");
      return set + pull + variable_of(provider, "_MODEL") + " to one that there is" +
             (fault.text.empty() ? ", or check " + url_variable : "");
    }
    case Fault::rate_limited: {
      const std::string when = retry_after ? "in " + duration_text(*retry_after) : "later";
      return tries_text(story.tries) + "; try again " + when;
    }
    case Fault::unavailable: {
      const std::string when = retry_after ? "in " + duration_text(*retry_after) : "later";
      return tries_text(story.tries) + "; the fault is the provider's, try again " + when;
    }
    case Fault::interrupted:
    case Fault::malformed:
      return tries_text(story.tries) + "; if it stays so, check " + url_variable + " and " +
             variable_of(provider, "_MODEL");
    default:
      break;
  }
  if (fault.status >= 300 && fault.status < 400) {
    return "; it points elsewhere, and no key is sent there: check " + url_variable;
  }
  return {};
}

std::string meaning_of(int status) {
  switch (status) {
    case 400:
      return "the request was not accepted";
    case 401:
      return "the key was not accepted";
    case 402:
      return "payment required";
    case 403:
      return "not allowed";
    case 404:
      return "not found";
    case 429:
      return "too many requests";
    default:
      return status >= 500 ? "the provider failed" : "no reason was given";
  }
}

// A status that promises an answer does not explain a failure by itself.
std::string status_text(int status) {
  return std::to_string(status) + (status < 300 ? ", but " : " ");
}

Failure base_failure(const Endpoint& endpoint, const CallStory& story, Fault fault, int status) {
  Failure failure;
  failure.fault = fault;
  failure.provider = endpoint.provider;
  failure.status = status;
  failure.tries = story.tries;
  return failure;
}

}  // namespace

std::string redacted(std::string text, const Secret& secret) {
  const std::string& key = secret.reveal();
  if (key.empty()) return text;
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t shared = shared_bytes(text, at, key);
    const bool telling = shared >= telling_bytes;
    const bool whole = shared == key.size() && stands_alone(text, at, shared);
    if (telling || whole) {
      result += mark;
      at += shared;
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::string foreign_text(std::string_view text, const Secret& secret, std::size_t max_bytes) {
  constexpr std::size_t looked_at = 4096;
  std::string line;
  const std::string repaired = json::repair_utf8(text.substr(0, looked_at));
  for (std::size_t at = 0; at < repaired.size(); ++at) {
    const char c = repaired[at];
    const auto byte = static_cast<unsigned char>(c);
    // Among the characters beyond ASCII, C2 80 to C2 9F are controls, too; no character is split
    // here.
    const bool control = byte == 0xC2 && static_cast<unsigned char>(repaired[at + 1]) < 0xA0;
    if (control) ++at;
    const bool blank = control || byte < 0x20 || byte == 0x7F || c == ' ';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (line.ends_with(' ')) line.pop_back();
  line = redacted(std::move(line), secret);
  if (line.size() <= max_bytes) return line;
  constexpr std::string_view cut = "...";
  line.resize(json::utf8_prefix(line, max_bytes - cut.size()).size());
  return line + std::string(cut);
}

std::string variable_of(std::string_view provider, std::string_view suffix) {
  std::string name(provider);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name + std::string(suffix);
}

std::string shown_url(std::string_view url) {
  // Some providers put a key behind the question mark.
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == url.npos ? 0 : scheme + 3;
  const std::string_view authority = url.substr(host, url.find('/', host) - host);
  const std::size_t user = authority.rfind('@');
  if (user == authority.npos) return std::string(url);
  return std::string(url.substr(0, host)) + std::string(url.substr(host + user + 1));
}

Failure failure_of(const Endpoint& endpoint, const CallStory& story, const ProviderFault& fault,
                   std::optional<std::chrono::milliseconds> retry_after) {
  Failure failure = base_failure(endpoint, story, fault.fault, fault.status);
  failure.retry_after = retry_after;
  std::string text = foreign_text(fault.text, endpoint.api_key);
  if (text.empty()) text = meaning_of(fault.status);
  while (text.ends_with('.')) text.pop_back();
  failure.message = endpoint.provider + ": ";
  if (fault.status != 0) failure.message += status_text(fault.status);
  failure.message += text + advice(endpoint, story, fault, retry_after);
  return failure;
}

Failure failure_of(const Endpoint& endpoint, const CallStory& story, const HttpFault& fault) {
  const std::string url_variable = variable_of(endpoint.provider, "_BASE_URL");
  // The transport's text begins with the server, which is named here already.
  const std::size_t server = fault.text.find(": ");
  std::string text = foreign_text(
      server == std::string::npos ? fault.text : fault.text.substr(server + 2), endpoint.api_key);
  Failure failure = base_failure(endpoint, story, Fault::unavailable, fault.status);
  switch (fault.kind) {
    case HttpFault::unreachable:
    case HttpFault::forbidden:
      text = "could not be reached at " +
             foreign_text(shown_url(endpoint.base_url), endpoint.api_key) + " (" + url_variable +
             "): " + text + tries_text(story.tries);
      if (endpoint.provider == "ollama") text += "; is `ollama serve` running?";
      break;
    case HttpFault::timed_out:
      failure.fault = Fault::timed_out;
      text = (fault.body_began ? "the answer was not complete within " : "no answer within ") +
             duration_text(story.deadline);
      break;
    case HttpFault::interrupted:
      failure.fault = Fault::interrupted;
      text = (fault.status == 0
                  ? "the connection ended before an answer ("
                  : status_text(fault.status) + "the connection ended within the answer (") +
             text + ")" + tries_text(story.tries) + "; try again";
      break;
    case HttpFault::too_large:
      failure.fault = Fault::malformed;
      text = "the answer is larger than any that is taken; check " + url_variable;
      break;
    case HttpFault::cancelled:
      failure.fault = Fault::cancelled;
      text = "cancelled";
      break;
  }
  failure.message = endpoint.provider + ": " + text;
  return failure;
}

}  // namespace runtime::llm
