// Searches the files of a living sandbox for a text.
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
  std::string path;  // an absolute path of a directory
  std::string text;  // not empty, without line feeds and NULs
  std::uint32_t limit = 100;
};

struct SearchFindings {
  std::vector<TextMatch> matches;  // with absolute paths
  bool is_cut = false;             // not everything was searched
};

enum class Noted : std::uint8_t { yes, no };

// Takes a bounded time and returns what was found until then, also where `cancel` is requested.
// `noted` says whether the audit has it already. The refusal says why there is no such directory.
// `sandboxes` must outlive the call.
boost::asio::awaitable<std::variant<SearchFindings, Refusal>> search_files(
    Sandboxes& sandboxes, Caller caller, Sandboxes::Found sandbox, SearchQuery query, Noted noted,
    Cancel cancel);

}  // namespace runtime
