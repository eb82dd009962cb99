// Fields that several requests share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/sandbox/run_request.h"
#include "runtime/service/field.h"
#include "runtime/service/request_rules.h"

namespace runtime {

inline constexpr Field::Member string_items = {"items", R"({"type":"string"})"};
inline constexpr Field::Member string_values = {"additionalProperties", R"({"type":"string"})"};

// The words for OutputEncoding, and the value of each.
std::vector<std::string> encoding_words(const RequestRules& rules);
OutputEncoding encoding_of(const std::string& word);

// The names of all languages.
std::vector<std::string> language_words(const RequestRules& rules);

// The templates that a request may name.
std::vector<std::string> template_words(const RequestRules& rules);

constexpr Field env_field(std::string_view description) {
  return {.name = "env",
          .type = Field::Type::map,
          .max = max_env,
          .expected = "names (not empty, without = and NUL) to strings without NUL",
          .description = description,
          .schema = {{"propertyNames", R"({"minLength":1,"pattern":"^[^=\\u0000]+$"})"},
                     string_values}};
}

constexpr Field memory_field(std::string_view name, std::string_view description) {
  return {.name = name,
          .type = Field::Type::integer,
          .min = min_memory_limit_mb,
          .operator_max = [](const RequestRules& rules) -> double {
            return rules.ceilings.memory_limit_mb;
          },
          .operator_default = [](const RequestRules& rules) -> double {
            return rules.default_memory_limit_mb;
          },
          .description = description};
}

inline constexpr Field network_field = {
    .name = "network",
    .expected = "none or {\"allow\": [\"host:port\", ...]}",
    .default_json = R"("none")",
    .description =
        "What can be reached beside the loopback interface: nothing, or the destinations that are "
        "named, through a proxy that HTTP_PROXY, HTTPS_PROXY and ALL_PROXY name (HTTP and SOCKS5). "
        "A destination is a name (example.org:443), a name with all below it "
        "(*.example.org:443), an address or a range of them (10.0.0.0/8:5432); each must be within "
        "what the operator allows (SANDBOX_NETWORK_ALLOW), which is nothing by default. A name "
        "that leads to a private address is refused unless that address is named as well. A "
        "program that names any starts in a jail that is made for it.",
    .schema = {
        {"oneOf", R"([{"type":"string","enum":["none"]},{"type":"object",)"
                  R"("additionalProperties":false,"required":["allow"],"properties":{)"
                  R"("allow":{"type":"array","minItems":1,"maxItems":64,"items":)"
                  R"({"type":"string","minLength":3}}}}])"},
        {"examples", R"(["none",{"allow":["pypi.org:443","files.pythonhosted.org:443"]}])"}}};

}  // namespace runtime
