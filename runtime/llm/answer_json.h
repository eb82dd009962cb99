// The JSON object in what a model wrote.
#pragma once

#include <string_view>

#include "jail/result.h"
#include "runtime/json/reader.h"

namespace runtime::llm {

// Models put objects into fences and prose, end lists with commas, break lines within strings,
// write Python's True, and stop before the end. What can be meant in one way only is read that way:
// an object whose last brackets are missing is closed, one that stops within a word, a number or a
// string is not. Of several objects the longest counts, of equal ones the last.
// Errors: ErrorKind::invalid; `doing` tells the model what is wrong with its answer.
jail::Result<json::Value> answer_json(std::string_view text);

}  // namespace runtime::llm
