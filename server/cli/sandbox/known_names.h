// What a server knows, as the completions of shells ask for it: agent-sandbox complete KIND.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/config/environment.h"
#include "runtime/json/reader.h"

namespace server::client {

struct KnownNamesOptions {
  // Sandboxes that live, by name and by id; the latest jobs, by id; templates; volumes, by name;
  // webhooks, by id.
  enum class Kind : unsigned char {
    sandboxes,
    jobs,
    templates,
    volumes,
    webhooks
  } kind = Kind::sandboxes;
};

// The subcommand is not in --help, since nobody types it. std::nullopt: it is another one.
std::optional<KnownNamesOptions> known_names_of(const std::vector<std::string>& args);

// The names in an answer of the server to a request for such a list. A name that does not look like
// one is left out: what completes a line is run by a shell.
std::vector<std::string> names_in(const runtime::json::Value& answer, KnownNamesOptions options);

// Prints one name a line, of the server that AGENT_SANDBOX_URL names. Where it does not answer
// within a second, or refuses, there is nothing, and no message either. To be called while there is
// only one thread. Returns the exit status, which is always 0.
int known_names(KnownNamesOptions options, const runtime::Environment& environment);

}  // namespace server::client
