#include "jail/id_range.h"

#include <fcntl.h>

#include <cerrno>

#include "c/boundary.h"
#include "c/handles.h"

namespace jail::c {
namespace {

Result<IdRangeOptions> options_of(const jail_id_range_options* given) {
  const auto read = read_struct("jail_id_range_options", given);
  if (!read) return read.error();
  if (read->reserved != 0) return invalid("jail_id_range_options.reserved: not 0");
  return IdRangeOptions{.first_uid = read->first_uid,
                        .first_gid = read->first_gid,
                        .count = read->count,
                        .uid = read->uid,
                        .gid = read->gid};
}

}  // namespace
}  // namespace jail::c

using jail::Result;
using jail::c::guarded;

extern "C" {

jail_status jail_id_range_enter(const jail_id_range_options* options, jail_id_range** range,
                                jail_error* error) {
  return guarded(__func__, {{"range", range}}, error, [&]() -> Result<void> {
    const auto read = jail::c::options_of(options);
    if (!read) return read.error();
    Result<jail::IdRange> entered = jail::IdRange::enter(*read);
    if (!entered) return entered.error();
    *range = new jail_id_range{std::make_shared<const jail::IdRange>(std::move(*entered))};
    return {};
  });
}

void jail_id_range_destroy(jail_id_range* range) { delete range; }

jail_status jail_act_as_owner_of(int directory, jail_acting** acting, jail_error* error) {
  return guarded(__func__, {{"acting", acting}}, error, [&]() -> Result<void> {
    if (::fcntl(directory, F_GETFD) < 0) {
      return jail::Error{jail::ErrorKind::invalid, "act as the owner of a directory", errno, {}};
    }
    *acting = new jail_acting{jail::ActAsOwnerOf(directory)};
    return {};
  });
}

void jail_acting_end(jail_acting* acting) { delete acting; }

}  // extern "C"
