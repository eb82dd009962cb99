// Looks for a text in the files of a sandbox that lives.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/living/text_search.h"
#include "runtime/refusals/refusal.h"
#include "runtime/service/principal.h"
#include "runtime/service/sandboxes.h"

namespace runtime {

struct SearchQuery {
  std::string path;  // of a directory, absolute
  std::string text;  // not empty, without line feeds and NULs
  std::uint32_t limit = 100;
};

struct SearchFindings {
  std::vector<TextMatch> matches;  // with their whole paths
  bool is_cut = false;             // not all was searched
};

enum class Noted : std::uint8_t { yes, no };

// Takes a bounded time, after which what was found until then is all; so it is where `cancel` is
// requested. `noted`: whether the audit has it. The refusal says why there is no such directory.
// `sandboxes` outlives it.
boost::asio::awaitable<std::variant<SearchFindings, Refusal>> search_files(
    Sandboxes& sandboxes, Caller caller, Sandboxes::Found sandbox, SearchQuery query, Noted noted,
    Cancel cancel);

}  // namespace runtime
