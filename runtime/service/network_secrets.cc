#include "runtime/service/network_secrets.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/service/field_readers.h"

namespace runtime {
namespace {

// The complaints name what is wrong, and never the value.
Complaint read_secret(const json::Object& members, NetworkSecret& secret) {
  for (const auto& [name, value] : members) {
    if (name != "host" && name != "port" && name != "header" && name != "value") {
      return "expected host, header, value and perhaps port, and no other member";
    }
  }
  const auto text_of = [&members](std::string_view name) -> const std::string* {
    const auto found = members.find(name);
    return found == members.end() ? nullptr : found->second.as_string();
  };
  const std::string* const host = text_of("host");
  auto canonical = host == nullptr ? std::nullopt : secret_host(*host);
  if (!canonical) return "host: expected a name such as api.example.com, or an address";
  secret.name.host = std::move(*canonical);
  if (const auto port = members.find("port"); port != members.end()) {
    const std::int64_t* const number = port->second.as_integer();
    if (number == nullptr || *number < 1 || *number > 65535) {
      return "port: expected an integer 1 .. 65535";
    }
    secret.name.port = static_cast<std::uint16_t>(*number);
  }
  const std::string* const header = text_of("header");
  if (header == nullptr || !is_secret_header(*header)) {
    return "header: expected the name of a header such as Authorization, 1 .. 64 letters, digits "
           "and marks, and none that frames a message or is for one connection alone";
  }
  secret.name.header = *header;
  const std::string* const value = text_of("value");
  if (value == nullptr || !is_secret_value(*value)) {
    return "value: expected 1 .. 8192 printable ASCII characters with no blank on either side";
  }
  secret.value = Secret(*value);
  return std::nullopt;
}

Complaint read_secrets(const json::Value& value, const std::vector<std::string>& allow,
                       std::vector<NetworkSecret>& secrets) {
  const json::Array* const list = value.as_array();
  if (list == nullptr) return "secrets: expected a list of objects with host, header and value";
  if (list->size() > max_network_secrets) {
    return "secrets: expected at most " + std::to_string(max_network_secrets);
  }
  for (const json::Value& item : *list) {
    const std::string where = "secrets[" + std::to_string(secrets.size()) + "]: ";
    const json::Object* const members = item.as_object();
    if (members == nullptr) return where + "expected an object with host, header and value";
    NetworkSecret secret;
    if (const Complaint complaint = read_secret(*members, secret)) return where + *complaint;
    const std::string destination = secret.name.destination();
    if (!is_named_by(allow, destination)) {
      return where + "allow does not name " + destination;
    }
    const bool is_there_already =
        std::any_of(secrets.begin(), secrets.end(), [&](const NetworkSecret& other) {
          return other.name.destination() == destination &&
                 is_same_header(other.name.header, secret.name.header);
        });
    if (is_there_already) return where + "there is one for this host and header already";
    secrets.push_back(std::move(secret));
  }
  return std::nullopt;
}

}  // namespace

Complaint read_sandbox_network(const Field& field, const json::Value& value,
                               const RequestRules& rules, SandboxNetwork& network) {
  const json::Object* const members = value.as_object();
  const auto secrets =
      members == nullptr ? json::Object::const_iterator() : members->find("secrets");
  if (members == nullptr || secrets == members->end()) {
    return read_network_into(field, value, rules, network.network);
  }
  json::Object rest;
  for (const auto& [name, member] : *members) {
    if (name != "secrets") rest.emplace(name, member);
  }
  const json::Value without_secrets(json::Value::Variant(std::move(rest)));
  const Complaint complaint = read_network_into(field, without_secrets, rules, network.network);
  if (complaint) return complaint;
  return read_secrets(secrets->second, network.network.rules, network.secrets);
}

std::vector<SecretName> names_of(const std::vector<NetworkSecret>& secrets) {
  std::vector<SecretName> names;
  for (const NetworkSecret& secret : secrets) names.push_back(secret.name);
  return names;
}

void write_secret_names(json::Writer& writer, const std::vector<SecretName>& names) {
  if (names.empty()) return;
  writer.key("secrets").begin_array();
  for (const SecretName& name : names) {
    writer.begin_object().key("host").string(name.host);
    writer.key("port").integer(name.port);
    writer.key("header").string(name.header).end_object();
  }
  writer.end_array();
}

}  // namespace runtime
