// The bodies of requests to Qdrant's REST API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/lessons.h"

namespace runtime::lessons::qdrant {

// The conditions are JSON documents.
struct Filter {
  std::vector<std::string> must;
  std::vector<std::string> must_not;

  std::string text() const;
};

std::string owned_by(const std::string& owner);
std::string has_id(const std::string& id);
std::string learnt_until(std::int64_t time);

std::string collection_body(std::size_t dimensions);
std::string index_body(const std::string& field, const std::string& kind);
std::string upsert_body(const std::string& owner, const agent::Lesson& lesson,
                        const std::vector<float>& vector);
std::string query_body(const std::vector<float>& vector, const std::string& filter,
                       std::uint32_t limit, double min_score);
std::string scroll_body(const std::string& filter, std::uint32_t limit, std::string_view order,
                        std::string_view direction);
std::string count_body(const std::string& filter);
std::string with_filter(const std::string& filter);
// `name` is "ids" for points to get, or "points" for those to delete.
std::string ids_body(std::string_view name, const std::vector<std::string>& ids);

}  // namespace runtime::lessons::qdrant
