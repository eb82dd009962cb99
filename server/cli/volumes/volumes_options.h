// What `agent-sandbox volume` was told to do, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/cli/sandbox/sandbox_options.h"

namespace server::client {

struct CreateVolumeOptions {
  std::string name;
  std::optional<std::uint32_t> size_mb;
  std::string copy_of;  // the id or name of the original; empty: there is none
  Format format = Format::text;
};

struct ListVolumesOptions {
  Format format = Format::text;
};

struct GetVolumeOptions {
  std::string id;  // or its name
  Format format = Format::text;
};

struct ChangeVolumeOptions {
  std::string id;  // or its name
  std::optional<std::string> name;
  std::optional<std::uint32_t> size_mb;  // this or a name is given
  Format format = Format::text;
};

struct DeleteVolumesOptions {
  std::vector<std::string> ids;  // or names; not empty
};

using VolumesOptions = std::variant<CreateVolumeOptions, ListVolumesOptions, GetVolumeOptions,
                                    ChangeVolumeOptions, DeleteVolumesOptions>;

}  // namespace server::client
