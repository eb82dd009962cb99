// The network of a living sandbox, as a request describes it: destinations, and the secrets that
// belong to some of them.
#pragma once

#include <vector>

#include "jail/network.h"
#include "runtime/json/writer.h"
#include "runtime/secrets/network_secret.h"
#include "runtime/service/common_fields.h"
#include "runtime/service/field.h"

namespace runtime {

struct SandboxNetwork {
  jail::Network network = {};
  std::vector<NetworkSecret> secrets = {};
};

Complaint read_sandbox_network(const Field& field, const json::Value& value,
                               const RequestRules& rules, SandboxNetwork& network);

// Writes the member `secrets` with the names; nothing where there are none.
void write_secret_names(json::Writer& writer, const std::vector<SecretName>& names);
std::vector<SecretName> names_of(const std::vector<NetworkSecret>& secrets);

inline constexpr Field sandbox_network_field = {
    .name = "network",
    .expected = "none or {\"allow\": [\"host:port\", ...], \"secrets\": [...]}",
    .default_json = network_field.default_json,
    .description =
        "What can be reached beside the loopback interface: nothing, or the destinations that are "
        "named, through a proxy that HTTP_PROXY, HTTPS_PROXY and ALL_PROXY name (HTTP and SOCKS5). "
        "A destination is a name (example.org:443), a name with all below it "
        "(*.example.org:443), an address or a range of them (10.0.0.0/8:5432); each must be within "
        "what the operator allows (SANDBOX_NETWORK_ALLOW), which is nothing by default. A name "
        "that leads to a private address is refused unless that address is named as well. A "
        "secret is a header that no program in the sandbox sees: programs ask "
        "$SANDBOX_SECRETS_URL/HOST/PATH, and the server asks https://HOST/PATH with that header "
        "added. `allow` must name its host and port. Values are kept in memory only and never "
        "shown.",
    .schema = {
        {"oneOf",
         R"([{"type":"string","enum":["none"]},{"type":"object",)"
         R"("additionalProperties":false,"required":["allow"],"properties":{)"
         R"("allow":{"type":"array","minItems":1,"maxItems":64,"items":)"
         R"({"type":"string","minLength":3}},)"
         R"("secrets":{"type":"array","maxItems":16,"items":{"type":"object",)"
         R"("additionalProperties":false,"required":["host","header","value"],"properties":{)"
         R"("host":{"type":"string","minLength":1,"description":"A name or an address; no pattern."},)"
         R"("port":{"type":"integer","minimum":1,"maximum":65535,"default":443},)"
         R"("header":{"type":"string","minLength":1,"maxLength":64,"pattern":)"
         R"("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},)"
         R"("value":{"type":"string","minLength":1,"maxLength":8192,"writeOnly":true,)"
         R"("description":"Printable ASCII with no blank on either side."}}}}}}])"},
        {"examples", R"(["none",{"allow":["pypi.org:443","files.pythonhosted.org:443"]},)"
                     R"({"allow":["api.example.com:443"],"secrets":[{"host":"api.example.com",)"
                     R"("header":"Authorization","value":"Bearer TOKEN"}]}])"}}};

}  // namespace runtime
