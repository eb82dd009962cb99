// The fields of requests about volumes, and of those for the volumes of a sandbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/service/field.h"
#include "runtime/service/query.h"

namespace runtime {

inline constexpr std::size_t max_volumes_of_a_sandbox = 8;

struct VolumeRequest {
  std::string name;
  std::optional<std::uint32_t> size_mb;  // nullopt: that of the original, or the usual one
  std::string copy_of;                   // the id or name of the original; empty: there is none
};

// Fields that are not set keep their values.
struct VolumeChange {
  std::optional<std::string> name;
  std::optional<std::uint32_t> size_mb;
};

// A volume that a sandbox is to have.
struct VolumeMount {
  std::string volume;  // an id or a name; of a sandbox that was made, the name
  std::string path;    // its place in the sandbox
  bool is_read_only = false;

  bool operator==(const VolumeMount&) const = default;
};

struct VolumeQuery {
  std::uint32_t limit = 50;
  std::uint64_t before = 0;  // the time of the last volume of the previous page; 0: the first page
};

std::span<const RequestField<VolumeRequest>> volume_fields() noexcept;
std::span<const RequestField<VolumeChange>> volume_change_fields() noexcept;
std::span<const RequestField<VolumeQuery>> volume_query_fields() noexcept;

// The size of a volume that is asked for without one.
std::uint32_t usual_volume_mb(std::uint32_t max_mb) noexcept;

// Accepts 1 .. 50 of a to z, 0 to 9 and "-" that are not in the form of an id.
bool is_volume_name(std::string_view text) noexcept;

Complaint read_volume_mounts(const json::Value& value, std::vector<VolumeMount>& mounts);

inline constexpr Field sandbox_volumes_field = {
    .name = "volumes",
    .type = Field::Type::list,
    .max = max_volumes_of_a_sandbox,
    .expected = "objects with volume, path and perhaps read_only",
    .default_json = "[]",
    .description =
        "Volumes of the caller (POST /v1/volumes) that it has as directories, each at a path where "
        "nothing else is, such as /data. One sandbox alone may write to a volume, and only while "
        "no other one has it; any number may have it with read_only. What is written there stays "
        "when the sandbox ends. A sandbox whose volume takes more than its size_mb ends "
        "(disk_full).",
    .schema = {{"items", R"({"type":"object","additionalProperties":false,)"
                         R"("required":["volume","path"],"properties":{)"
                         R"("volume":{"type":"string","description":"Its id or name."},)"
                         R"("path":{"type":"string","minLength":2,"maxLength":255},)"
                         R"("read_only":{"type":"boolean","default":false}}})"},
               {"examples", R"([[{"volume":"models","path":"/models","read_only":true}]])"}}};

template <auto member, class Request>
Complaint read_mounts(const Field&, const json::Value& value, const RequestRules&,
                      Request& request) {
  return read_volume_mounts(value, request.*member);
}

}  // namespace runtime
