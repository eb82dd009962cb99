// The query parameters of these routes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/service/field.h"

namespace server::kubernetes_style {

struct LinesQuery {
  std::uint32_t lines = 200;  // the latest lines
};

struct NamedEventsQuery {
  std::string sandbox;  // a name or an id; empty: all sandboxes of the caller
  std::uint32_t limit = 100;
};

struct PathQuery {
  std::string path;  // absolute, without ".."
  bool is_recursive = false;
};

std::span<const runtime::RequestField<LinesQuery>> lines_query_fields() noexcept;
std::span<const runtime::RequestField<NamedEventsQuery>> events_query_fields() noexcept;
// Each has the parameter path: of a directory, which may be left out; of a file; of what is to be
// removed.
std::span<const runtime::RequestField<PathQuery>> directory_query_fields() noexcept;
std::span<const runtime::RequestField<PathQuery>> file_query_fields() noexcept;
std::span<const runtime::RequestField<PathQuery>> removal_query_fields() noexcept;

}  // namespace server::kubernetes_style
