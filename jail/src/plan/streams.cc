#include <errno.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <limits>

#include "plan/concerns.h"

namespace jail {

namespace {

void add_session_and_streams(Builder& builder) {
  builder.call(JAIL_CALL(setsid), {}, "start a session of the guest's own");
  const char* names[] = {"standard input", "standard output", "standard error"};
  for (std::uint8_t i = 0; i < 3; ++i) {
    const SlotRef stream{static_cast<std::uint8_t>(wire::slot_stdin + i)};
    builder.call(JAIL_CALL(dup3), {Builder::slot(stream), Builder::value(i), Builder::value(0)},
                 std::string("take ") + names[i]);
  }
}

void close_from(Builder& builder, unsigned first, unsigned flags, const char* purpose) {
  builder.call(JAIL_CALL(close_range),
               {Builder::value(first), Builder::value(std::numeric_limits<unsigned>::max()),
                Builder::value(flags)},
               purpose);
}

// All other descriptors are close-on-exec already; this covers what a later change may forget.
void close_at_execve(Builder& builder) {
  close_from(builder, 3, CLOSE_RANGE_CLOEXEC, "close every other descriptor at execve");
}

}  // namespace

void add_streams(Builder& builder) {
  add_session_and_streams(builder);
  close_at_execve(builder);
}

void add_controlling_terminal(Builder& builder) {
  // In a process without a terminal this slot is empty.
  builder
      .call(JAIL_CALL(ioctl),
            {Builder::slot({wire::slot_terminal}), Builder::value(TIOCSCTTY), Builder::value(0)},
            "make its terminal the controlling one, where it has one")
      .tolerated_errno = EBADF;
  // The terminal has a session now, so another process that opens it does not make it its own.
  builder
      .call(JAIL_CALL(fchmod),
            {Builder::slot({wire::slot_terminal}), Builder::value(S_IRUSR | S_IWUSR)},
            "let it be opened by its name")
      .tolerated_errno = EBADF;
}

void add_zygote_streams(Builder& builder) {
  add_session_and_streams(builder);
  close_at_execve(builder);
  const struct {
    std::uint8_t slot;
    int fd;
    const char* name;
  } kept[] = {{wire::slot_zygote, wire::zygote_requests_fd, "requests"},
              {wire::slot_library, wire::zygote_library_fd, "its library"},
              {wire::slot_setup, wire::zygote_setup_fd, "its orders"},
              {wire::slot_guest_plan, wire::zygote_plan_fd, "its forks' plan"},
              {wire::slot_control, wire::zygote_control_fd, "its reports"}};
  for (const auto& entry : kept) {
    builder.call(JAIL_CALL(dup3),
                 {Builder::slot({entry.slot}), Builder::value(entry.fd), Builder::value(0)},
                 std::string("keep the descriptor for ") + entry.name);
  }
}

void add_forked_streams(Builder& builder) {
  add_session_and_streams(builder);
  close_all_but_channel(builder, "close every descriptor of the zygote");
}

void close_all_but_channel(Builder& builder, const char* purpose) {
  close_from(builder, wire::guest_channel_fd + 1, 0, purpose);
}

}  // namespace jail
