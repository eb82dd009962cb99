// The providers that are configured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jail/result.h"
#include "runtime/config/config.h"
#include "runtime/llm/http_client.h"
#include "runtime/llm/provider.h"

namespace runtime::llm {

// Each that can be asked, the active one first; none where nothing is configured. The client
// outlives them.
// Errors: invalid, one line that names the variable: LLM_PROVIDER names one whose key is missing,
// or the cassette cannot be played.
jail::Result<std::vector<std::unique_ptr<Provider>>> make_providers(const Config& config,
                                                                    HttpClient& client);

// One of them by its configuration, for whoever wants it alone. The same errors.
jail::Result<std::unique_ptr<Provider>> make_provider(const Config& config,
                                                      const ProviderConfig& provider,
                                                      HttpClient& client);

// What the paths of its API stand behind: "https://api.openai.com/v1". Of one that speaks HTTP.
std::string api_url(const ProviderConfig& provider);

// What to set so that tasks are answered; for a person. Empty where there is an active provider.
std::string why_no_provider(const Config& config);

}  // namespace runtime::llm
