#include "parent/act_as.h"

#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "jail/id_range.h"
#include "parent/id_pool.h"

namespace jail {
namespace {

constexpr auto unchanged = static_cast<uid_t>(-1);

// A change of these ids makes what /proc has of this process root's.
void stay_dumpable() { ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }

// Changes the calling thread alone, as all that follows; glibc's setresuid() changes the whole
// process. Returns the ids before, which may be another guard's.
wire::Ids set_file_ids(const wire::Ids& ids) {
  wire::Ids before{};
  before.gid = static_cast<std::uint32_t>(::setfsgid(ids.gid));
  before.uid = static_cast<std::uint32_t>(::setfsuid(ids.uid));
  // Neither tells an error, such as a lack of memory. Nothing may be done in another name then.
  const bool is_done = ::setfsgid(unchanged) == static_cast<int>(ids.gid) &&
                       ::setfsuid(unchanged) == static_cast<int>(ids.uid);
  if (!is_done) std::abort();
  stay_dumpable();
  return before;
}

void set_real_user(uid_t uid) {
  ::syscall(SYS_setresuid, uid, unchanged, unchanged);
  stay_dumpable();
}

// Takes the file ids along.
void set_effective_user(uid_t uid) {
  ::syscall(SYS_setresuid, unchanged, uid, unchanged);
  stay_dumpable();
}

}  // namespace

ActAs::ActAs(const wire::Ids& ids) noexcept {
  if (ids.uid != 0) own_ = set_file_ids(ids);
}

ActAs::~ActAs() {
  if (own_.uid != 0) set_file_ids(own_);
}

CountAs::CountAs(const wire::Ids& ids) noexcept {
  if (ids.uid == 0) return;
  own_ = {::getuid(), ::getgid()};
  set_real_user(ids.uid);
}

CountAs::~CountAs() {
  if (own_.uid != 0) set_real_user(own_.uid);
}

AdministerAs::AdministerAs(const wire::Ids& ids) noexcept {
  if (ids.uid == 0) return;
  own_ = {::geteuid(), ::getegid()};
  set_effective_user(ids.uid);
}

AdministerAs::~AdministerAs() {
  if (own_.uid != 0) set_effective_user(own_.uid);
}

ActAsOwnerOf::ActAsOwnerOf(int directory) noexcept {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return;
  const wire::Ids ids = ids_of_jail(status.st_uid);
  if (ids.uid == 0) return;
  const wire::Ids before = set_file_ids(ids);
  uid_ = before.uid;
  gid_ = before.gid;
}

ActAsOwnerOf::~ActAsOwnerOf() {
  if (uid_ != 0) set_file_ids({uid_, gid_});
}

}  // namespace jail
