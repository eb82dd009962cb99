// What the server tells of jobs, for people.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/json/reader.h"

namespace server::client {

// A table that fits `width` columns of a terminal; 0: no bound.
std::string jobs_text(const runtime::json::Array& jobs, std::size_t width);

// One thing a line: "name: value". What does not apply to the job is left out.
std::string job_text(const runtime::json::Value& job);

}  // namespace server::client
