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

// Makes every provider that can be asked, the active one first; none where nothing is configured.
// The client must outlive them. Errors: invalid, one line that names the variable: LLM_PROVIDER
// names one whose key is missing, or the cassette cannot be played.
jail::Result<std::vector<std::unique_ptr<Provider>>> make_providers(const Config& config,
                                                                    HttpClient& client);

// Makes a single provider from its configuration. The same errors.
jail::Result<std::unique_ptr<Provider>> make_provider(const Config& config,
                                                      const ProviderConfig& provider,
                                                      HttpClient& client);

// The URL to which the paths of its API are appended: "https://api.openai.com/v1". For a provider
// that uses HTTP.
std::string api_url(const ProviderConfig& provider);

// Says which settings are needed for tasks to be answered; for a person. Empty where there is an
// active provider.
std::string why_no_provider(const Config& config);

}  // namespace runtime::llm
