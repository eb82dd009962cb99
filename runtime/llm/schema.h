// Whether a JSON value is what a schema wants.
#pragma once

#include <string_view>

#include "jail/result.h"
#include "runtime/json/reader.h"

namespace runtime::llm {

// Knows of JSON Schema what our contracts are written in: type, properties, required,
// additionalProperties, items, enum, const, minimum, maximum, minItems, maxItems. Other words in a
// schema count for nothing.
// Errors: ErrorKind::invalid; `doing` names each place that is wrong, a few at most, so that
// whoever wrote the value can mend it: "answer.votes[1].confidence: 1.4 is above 1". `what` names
// the value.
jail::Result<void> check_schema(const json::Value& value, const json::Value& schema,
                                std::string_view what);

}  // namespace runtime::llm
