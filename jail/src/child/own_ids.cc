#include "child/own_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

constexpr long unchanged = -1;

// The kernel reads zeros before a number as what they are.
void write_id(char* place, std::uint32_t id) {
  for (std::size_t i = wire::id_digits; i > 0; --i, id /= 10) {
    place[i - 1] = static_cast<char>('0' + id % 10);
  }
}

long write_map(long pid, const char* name, const char* text) {
  const Path path = joined({"/proc/", Number(static_cast<std::uint64_t>(pid)).text, name});
  const long file = raw::call(SYS_openat, AT_FDCWD, raw::address(path.text), O_WRONLY | O_CLOEXEC);
  if (file < 0) return file;
  long size = 0;
  while (text[size] != '\0') ++size;
  const long written = raw::call(SYS_write, file, raw::address(text), size);
  raw::call(SYS_close, file);
  return written < 0 ? written : 0;
}

}  // namespace

long count_as(const wire::Ids& ids, wire::Ids& own) {
  if (ids.uid == 0) return 0;
  own.uid = static_cast<std::uint32_t>(raw::call(SYS_geteuid));
  own.gid = static_cast<std::uint32_t>(raw::call(SYS_getegid));
  // The saved ids stay, and no id is 0, so the capabilities do as well.
  long done = raw::call(SYS_setresgid, ids.gid, ids.gid, unchanged);
  if (done == 0) done = raw::call(SYS_setresuid, ids.uid, ids.uid, unchanged);
  if (done < 0) return done;
  // They answer with the former id, whether or not they do what they are asked.
  raw::call(SYS_setfsgid, own.gid);
  raw::call(SYS_setfsuid, own.uid);
  return 0;
}

void stop_counting_as(const wire::Ids& ids, const wire::Ids& own) {
  if (ids.uid == 0) return;
  long done = raw::call(SYS_setresgid, own.gid, own.gid, own.gid);
  if (done == 0) done = raw::call(SYS_setresuid, own.uid, own.uid, own.uid);
  // It would take the ids of this jail for its own from now on; its owner makes another launcher.
  if (done < 0) raw::call(SYS_exit_group, 1);
  // The change of ids gave this process's files in /proc to root. That would hold for every process
  // that it clones, too, so they are given back.
  raw::call(SYS_prctl, PR_SET_DUMPABLE, 1);
}

void fill_id_maps(const wire::PlanHeader& plan, char* base, const wire::Ids& ids) {
  if (ids.uid == 0 || plan.kind == wire::plan_host || plan.uid_map_offset == 0) return;
  write_id(base + plan.uid_map_offset, ids.uid);
  write_id(base + plan.gid_map_offset, ids.gid);
}

long write_maps_of_host(const wire::PlanHeader& plan, const char* base, long pid) {
  const long done = write_map(pid, "/gid_map", base + plan.gid_map_offset);
  return done == 0 ? write_map(pid, "/uid_map", base + plan.uid_map_offset) : done;
}

}  // namespace jail::child
