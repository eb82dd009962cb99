// Checks whether a JSON value satisfies a schema.
#pragma once

#include <string_view>

#include "jail/result.h"
#include "runtime/json/reader.h"

namespace runtime::llm {

// Implements the part of JSON Schema that our contracts use: type, properties, required,
// additionalProperties, items, enum, const, minimum, maximum, minItems, maxItems. Other words in a
// schema are ignored. Errors: ErrorKind::invalid; `doing` names each place that is wrong, a few at
// most, so that the author of the value can correct it: "answer.votes[1].confidence: 1.4 is above
// 1". `what` names the value.
jail::Result<void> check_schema(const json::Value& value, const json::Value& schema,
                                std::string_view what);

}  // namespace runtime::llm
