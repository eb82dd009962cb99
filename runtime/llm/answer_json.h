// Finds the JSON object in a model's answer.
#pragma once

#include <string_view>

#include "jail/result.h"
#include "runtime/json/reader.h"

namespace runtime::llm {

// Models put objects into fences and prose, end lists with commas, break lines within strings,
// write Python's True, and stop before the end. Text with only one possible meaning is repaired: an
// object whose last brackets are missing is closed, one that stops within a word, a number or a
// string is not. Among several objects the longest is taken, among equally long ones the last.
// Errors: ErrorKind::invalid; `doing` tells the model what is wrong with its answer.
jail::Result<json::Value> answer_json(std::string_view text);

}  // namespace runtime::llm
