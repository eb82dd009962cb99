// The parts of libjail that runs and warm pools use, as interfaces, so that their tests need no
// kernel.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "jail/jail.h"
#include "jail/launcher.h"
#include "jail/pool.h"
#include "jail/result.h"

namespace runtime {

// One jail, as jail::Jail: the holder of the handle owns the jail.
class JailHandle {
 public:
  virtual ~JailHandle() = default;  // kills what still runs

  virtual jail::Phase phase() const noexcept = 0;
  virtual int control_fd() const noexcept = 0;
  virtual jail::Result<jail::Phase> advance() = 0;
  virtual jail::Result<void> write_file(std::string_view path, std::string_view content) = 0;
  // nullopt: the limits with which the jail was made.
  virtual jail::Result<void> start(const std::optional<jail::RunLimits>& limits) = 0;
  virtual int working_directory_fd() const noexcept = 0;
  virtual int process_fd() const noexcept = 0;
  virtual jail::Result<void> signal(int number) = 0;
  virtual void cancel() noexcept = 0;
  virtual void kill(jail::Ended why) noexcept = 0;
  virtual jail::Fd take_stdin() noexcept = 0;
  virtual jail::Fd take_stdout() noexcept = 0;
  virtual jail::Fd take_stderr() noexcept = 0;
  virtual int terminal_fd() const noexcept = 0;  // -1: there is none (yet)
  virtual const jail::ExitReport& report() const noexcept = 0;
};

std::unique_ptr<JailHandle> handle_of(jail::Jail jail);

// Identifies the process that makes jails, to distinguish it from its successors. Keeps it alive.
using JailMaker = std::shared_ptr<const void>;

// A living jail, and the launcher without which it cannot be made.
struct LaunchedLiving {
  jail::Jail jail;
  std::shared_ptr<const jail::Launcher> launcher;
};

// Waiting jails, as jail::Pool. Thread-safe.
class PoolHandle {
 public:
  virtual ~PoolHandle() = default;  // kills the jails that wait

  virtual int event_fd() const noexcept = 0;
  virtual void advance() = 0;
  virtual jail::Result<std::unique_ptr<JailHandle>> lease() = 0;
  virtual jail::Result<std::unique_ptr<JailHandle>> launch(const jail::Invocation& invocation) = 0;
  virtual jail::Result<LaunchedLiving> launch_living(const jail::Limits& limits,
                                                     const jail::Limits& max_limits) = 0;
  virtual bool give_up_one() = 0;
  virtual jail::PoolState state() const = 0;

  virtual JailMaker maker() const = 0;
  // Returns true where the pool can make no more jails.
  virtual bool maker_has_ended() const noexcept = 0;
};

// Errors: as jail::Pool::open().
jail::Result<std::shared_ptr<PoolHandle>> open_pool(std::shared_ptr<const jail::Launcher> launcher,
                                                    const jail::TemplateSpec& spec,
                                                    const jail::PoolOptions& options);

// Returns whether the host lacks a resource that jails need: descriptors, processes, memory. A
// limit of this server is not a shortage.
bool is_shortage(const jail::Error& error) noexcept;

bool has_ended(const jail::Launcher& launcher) noexcept;

}  // namespace runtime
