#include "runtime/service/volume_json.h"

#include "runtime/json/utc_text.h"

namespace runtime {

void write_volume(json::Writer& writer, const Volumes::View& volume) {
  const VolumeRow& row = volume.row;
  writer.begin_object().key("id").string(row.id).key("name").string(row.name);
  writer.key("created_at").string(json::utc_text(row.created));
  writer.key("size_mb").integer(row.size_mb);
  writer.key("used_bytes").integer(static_cast<std::int64_t>(row.used_bytes));
  writer.key("files").integer(static_cast<std::int64_t>(row.files));
  writer.key("sandboxes").begin_array();
  for (const Volumes::User& user : volume.users) {
    writer.begin_object().key("id").string(user.sandbox).key("path").string(user.path);
    writer.key("read_only").boolean(user.is_read_only).end_object();
  }
  writer.end_array().end_object();
}

void write_volume_mounts(json::Writer& writer, const std::vector<VolumeMount>& mounts) {
  writer.key("volumes").begin_array();
  for (const VolumeMount& mount : mounts) {
    writer.begin_object().key("volume").string(mount.volume).key("path").string(mount.path);
    writer.key("read_only").boolean(mount.is_read_only).end_object();
  }
  writer.end_array();
}

}  // namespace runtime
