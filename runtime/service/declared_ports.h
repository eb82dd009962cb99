// The ports that a sandbox declares: where servers in it will listen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/writer.h"
#include "runtime/service/field.h"

namespace runtime {

inline constexpr std::size_t max_declared_ports = 64;

Complaint read_declared_ports(const Field& field, const json::Value& value,
                              const RequestRules& rules, std::vector<std::uint32_t>& ports);

inline constexpr Field declared_ports_field = {
    .name = "ports",
    .type = Field::Type::list,
    .max = max_declared_ports,
    .expected = "different ports of 1 .. 65535",
    .default_json = "[]",
    .description =
        "Where servers in it will listen. They are shown with their addresses, for whoever finds "
        "the sandbox; every other port can be reached as well.",
    .schema = {{"items", R"({"type":"integer","minimum":1,"maximum":65535})"},
               {"uniqueItems", "true"},
               {"examples", "[[8000]]"}}};

template <auto member, class Request>
Complaint read_ports(const Field& field, const json::Value& value, const RequestRules& rules,
                     Request& request) {
  return read_declared_ports(field, value, rules, request.*member);
}

// The port that is meant where a request names none: the first of them, or 8080.
std::uint32_t port_of_choice(const std::vector<std::uint32_t>& ports);

// Writes the member `ports` of a sandbox: each with its path on this server, and its host name
// where `domain` is not empty.
void write_declared_ports(json::Writer& writer, const std::string& id, std::string_view domain,
                          const std::vector<std::uint32_t>& ports);

}  // namespace runtime
