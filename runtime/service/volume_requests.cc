#include "runtime/service/volume_requests.h"

#include <algorithm>
#include <iterator>

#include "runtime/living/below.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/sandbox_requests.h"

namespace runtime {
namespace {

using Type = Field::Type;

constexpr std::size_t max_volume_name_bytes = 50;
constexpr std::size_t max_mount_path_bytes = 255;
constexpr std::uint32_t usual_mb = 1024;

// The first names of paths that a sandbox has anyway, or that programs expect to be the system's.
constexpr std::string_view places_of_the_system[] = {
    "bin",  "boot", "dev",  "etc", "lib", "lib32", "lib64", "libx32",
    "proc", "run",  "sbin", "sys", "tmp", "usr",   "var",   "workspace"};

double max_volume_mb(const RequestRules& rules) {
  return rules.max_directory_mb == 0 ? largest_directory_mb : rules.max_directory_mb;
}

double usual_volume_mb_of(const RequestRules& rules) {
  return std::min<double>(usual_mb, max_volume_mb(rules));
}

bool is_volume_reference(std::string_view text) {
  return is_volume_name(text) || is_sandbox_id(text);
}

bool is_at_or_below(std::string_view path, std::string_view other) {
  return path.starts_with(other) && (path.size() == other.size() || path[other.size()] == '/');
}

Complaint why_not_at(std::string_view path) {
  const bool is_text = std::none_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!path.starts_with('/') || path.size() < 2 || path.size() > max_mount_path_bytes || !is_text ||
      below::normal(path) != path) {
    return "path: expected an absolute path of at most 255 bytes without . and .. and without a "
           "slash at its end";
  }
  const std::string_view first = path.substr(1, path.find('/', 1) - 1);
  if (std::find(std::begin(places_of_the_system), std::end(places_of_the_system), first) !=
      std::end(places_of_the_system)) {
    return "path: /" + std::string(first) +
           " is the sandbox's own; expected a place where nothing else is, such as /data";
  }
  return std::nullopt;
}

Complaint read_mount(const json::Object& members, VolumeMount& mount) {
  for (const auto& [name, value] : members) {
    if (name != "volume" && name != "path" && name != "read_only") {
      return "expected volume, path and perhaps read_only, and no other member";
    }
  }
  const auto volume = members.find("volume");
  const std::string* const reference =
      volume == members.end() ? nullptr : volume->second.as_string();
  if (reference == nullptr || !is_volume_reference(*reference)) {
    return "volume: expected the id or the name of a volume";
  }
  mount.volume = *reference;
  const auto path = members.find("path");
  const std::string* const place = path == members.end() ? nullptr : path->second.as_string();
  if (place == nullptr) return "path: expected an absolute path";
  if (auto complaint = why_not_at(*place)) return complaint;
  mount.path = *place;
  if (const auto flag = members.find("read_only"); flag != members.end()) {
    const bool* const is_read_only = flag->second.as_bool();
    if (is_read_only == nullptr) return "read_only: expected true or false";
    mount.is_read_only = *is_read_only;
  }
  return std::nullopt;
}

Complaint read_volume_cursor(const Field& field, const json::Value& value,
                             const RequestRules& rules, VolumeQuery& query) {
  const std::string* const text = value.as_string();
  const auto number = text == nullptr ? std::nullopt : digits_of(*text);
  if (!number || *number == 0) return expectation(field, rules);
  query.before = *number;
  return std::nullopt;
}

constexpr Field volume_name_field = {
    .name = "name",
    .type = Type::text,
    .min = 1,
    .max = max_volume_name_bytes,
    .expected = "a to z, 0 to 9 and -, 1 .. 50 of them, not in the form of an id",
    .description = "Works wherever its id does. No other volume of the caller has it.",
    .schema = {{"pattern", R"("^[a-z0-9-]+$")"}}};

constexpr RequestField<VolumeRequest> volume_rows[] = {
    {required(volume_name_field), read_text_that<&VolumeRequest::name, is_volume_name>},
    {{.name = "size_mb",
      .type = Type::integer,
      .min = 1,
      .operator_max = max_volume_mb,
      .operator_default = usual_volume_mb_of,
      .description = "The most that its files may take; of a copy by default what the original "
                     "may. The maximum is the operator's to change (SANDBOX_MAX_DISK_MB)."},
     read_integer<&VolumeRequest::size_mb>},
    {{.name = "copy_of",
      .type = Type::text,
      .expected = "the id or the name of a volume",
      .description = "A volume whose files the new one begins with. No sandbox may have it to "
                     "write meanwhile. Pipes, sockets and devices are left out."},
     read_text_that<&VolumeRequest::copy_of, is_volume_reference>}};

constexpr RequestField<VolumeChange> volume_change_rows[] = {
    {volume_name_field, read_text_that<&VolumeChange::name, is_volume_name>},
    {{.name = "size_mb",
      .type = Type::integer,
      .min = 1,
      .operator_max = max_volume_mb,
      .description = "The most that its files may take from now on, and no less than they take. "
                     "It can be raised while a sandbox writes to the volume, and lowered while "
                     "none does."},
     read_integer<&VolumeChange::size_mb>}};

constexpr RequestField<VolumeQuery> volume_list_rows[] = {
    {limit_field(200, "50"), read_integer<&VolumeQuery::limit>},
    {cursor_field("The `next_cursor` of the page before.", "the next_cursor of another page"),
     read_volume_cursor}};

}  // namespace

std::span<const RequestField<VolumeRequest>> volume_fields() noexcept { return volume_rows; }
std::span<const RequestField<VolumeChange>> volume_change_fields() noexcept {
  return volume_change_rows;
}
std::span<const RequestField<VolumeQuery>> volume_query_fields() noexcept {
  return volume_list_rows;
}

std::uint32_t usual_volume_mb(std::uint32_t max_mb) noexcept { return std::min(usual_mb, max_mb); }

bool is_volume_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= max_volume_name_bytes && !is_sandbox_id(text) &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == text.npos;
}

Complaint read_volume_mounts(const json::Value& value, std::vector<VolumeMount>& mounts) {
  const json::Array* const list = value.as_array();
  if (list == nullptr || list->size() > max_volumes_of_a_sandbox) {
    return "expected a list of at most " + std::to_string(max_volumes_of_a_sandbox) +
           " objects with volume, path and perhaps read_only";
  }
  for (const json::Value& item : *list) {
    const std::string where = "[" + std::to_string(mounts.size()) + "]: ";
    const json::Object* const members = item.as_object();
    if (members == nullptr) return where + "expected an object with volume and path";
    VolumeMount mount;
    if (const Complaint complaint = read_mount(*members, mount)) return where + *complaint;
    for (const VolumeMount& other : mounts) {
      if (is_at_or_below(mount.path, other.path) || is_at_or_below(other.path, mount.path)) {
        return where + "path: " + mount.path +
               " is the place of another volume, or is above or "
               "below one";
      }
    }
    mounts.push_back(std::move(mount));
  }
  return std::nullopt;
}

}  // namespace runtime
