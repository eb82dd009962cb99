// The member `limits` of requests about sandboxes.
#pragma once

#include <string>
#include <string_view>

#include "runtime/service/field.h"

namespace runtime {

constexpr Field sandbox_limits_field(std::string_view description,
                                     std::string (*members)(const RequestRules& rules)) {
  return {.name = "limits",
          .expected = "an object with memory_mb, processes, disk_mb or cpu",
          .description = description,
          .members = members,
          .schema = {{"type", R"("object")"}, {"additionalProperties", "false"}}};
}

// A field that is left out of a change keeps its value, so it has no default.
constexpr Field without_default(Field field) {
  field.default_json = {};
  field.operator_default = nullptr;
  return field;
}

}  // namespace runtime
