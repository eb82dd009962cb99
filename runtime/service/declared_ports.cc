#include "runtime/service/declared_ports.h"

#include <algorithm>

namespace runtime {

namespace {

constexpr std::uint32_t usual_port = 8080;
constexpr std::int64_t last_port = 65'535;

}  // namespace

Complaint read_declared_ports(const Field& field, const json::Value& value,
                              const RequestRules& rules, std::vector<std::uint32_t>& ports) {
  const json::Array* const list = value.as_array();
  if (list == nullptr || !is_within(field, static_cast<double>(list->size()), rules)) {
    return expectation(field, rules);
  }
  for (const json::Value& item : *list) {
    const std::int64_t* const number = item.as_integer();
    if (number == nullptr || *number < 1 || *number > last_port) return expectation(field, rules);
    const auto port = static_cast<std::uint32_t>(*number);
    if (std::ranges::find(ports, port) != ports.end()) return expectation(field, rules);
    ports.push_back(port);
  }
  return std::nullopt;
}

std::uint32_t port_of_choice(const std::vector<std::uint32_t>& ports) {
  return ports.empty() ? usual_port : ports.front();
}

void write_declared_ports(json::Writer& writer, const std::string& id, std::string_view domain,
                          const std::vector<std::uint32_t>& ports) {
  writer.key("ports").begin_array();
  for (const std::uint32_t port : ports) {
    const std::string number = std::to_string(port);
    writer.begin_object().key("port").integer(port);
    writer.key("path").string("/v1/sandboxes/" + id + "/ports/" + number + "/").key("host");
    if (domain.empty()) {
      writer.null();
    } else {
      writer.string(number + "-" + id + "." + std::string(domain));
    }
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace runtime
