// What `agent-sandbox jobs` and `agent-sandbox logs` were told to do, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/cli/sandbox/sandbox_options.h"

namespace server::client {

struct ListJobsOptions {
  std::string status;        // empty: all
  std::uint32_t limit = 50;  // how many are shown at most, newest first
  Format format = Format::text;
};

struct ShowJobOptions {
  std::string id;
  Format format = Format::text;
};

struct CancelJobsOptions {
  std::vector<std::string> ids;  // not empty
};

// What a job or a sandbox wrote.
struct OutputOptions {
  std::string id;                                    // of a job, or of a sandbox or its name
  std::optional<std::uint32_t> tail = std::nullopt;  // lines
  bool follow = false;
};

using JobsOptions = std::variant<ListJobsOptions, ShowJobOptions, CancelJobsOptions, OutputOptions>;

}  // namespace server::client
