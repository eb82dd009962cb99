// Volumes as JSON for callers.
#pragma once

#include <vector>

#include "runtime/json/writer.h"
#include "runtime/service/volumes.h"

namespace runtime {

void write_volume(json::Writer& writer, const Volumes::View& volume);

// Writes the member `volumes` of a sandbox.
void write_volume_mounts(json::Writer& writer, const std::vector<VolumeMount>& mounts);

}  // namespace runtime
