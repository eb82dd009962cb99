#include "child/hand_over.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "child/channel.h"
#include "child/raw_syscall.h"
#include "child/wire.h"

namespace jail::child {
namespace {

long hand_over_contexts(int control, const long* slots) {
  const struct {
    wire::Slot slot;
    wire::FileSystem of;
  } contexts[] = {{wire::slot_workspace_context, wire::file_system_workspace},
                  {wire::slot_tmp_context, wire::file_system_tmp}};
  wire::Message message{};
  message.type = wire::message_context;
  for (const auto& context : contexts) {
    const long fd = slots[context.slot];
    if (fd < 0) continue;
    message.index = context.of;
    const long sent = send_message(control, message, static_cast<int>(fd));
    raw::call(SYS_close, fd);
    if (sent < 0) return sent;
  }
  return 0;
}

// Returns 0 or a negative errno.
long hand_over_all(int control, const long* slots) {
  const long root =
      raw::call(SYS_openat, AT_FDCWD, raw::address("/"), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return root;
  wire::Message message{};
  message.type = wire::message_root;
  long done = send_message(control, message, static_cast<int>(root));
  raw::call(SYS_close, root);
  if (done >= 0) done = hand_over_contexts(control, slots);
  if (done < 0) return done;
  message.type = wire::message_ready;
  done = send_message(control, message, static_cast<int>(slots[wire::slot_workspace]));
  return done < 0 ? done : 0;
}

}  // namespace

bool hand_over(int control, long before, const long* slots) {
  const long done = before < 0 ? before : hand_over_all(control, slots);
  if (done == 0) return true;
  send_failure(control, 1, -1, static_cast<std::int32_t>(-done));
  return false;
}

}  // namespace jail::child
