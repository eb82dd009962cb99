// The reasons why a sandbox or a process in it ended, and why one of its files could not be used.
#include <errno.h>

#include <cmath>
#include <utility>

#include "runtime/json/utc_text.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

constexpr std::chrono::seconds max_idle{86400};

Outcome plain(std::string_view code, std::string cause) {
  Outcome outcome;
  outcome.code = code;
  outcome.cause = std::move(cause);
  return outcome;
}

Outcome of_time(std::string_view code, std::string cause, RequestLimit met,
                std::chrono::duration<double> time, std::chrono::duration<double> ceiling) {
  Outcome outcome = plain(code, std::move(cause));
  outcome.met = met;
  outcome.limit = outcome.used = outcome.asked = std::round(time.count() * 1000) / 1000;
  outcome.ceiling = ceiling.count();
  return outcome;
}

// Rounded to two decimals.
double megabytes(std::uint64_t bytes) {
  return std::round(static_cast<double>(bytes) / (1u << 20) * 100) / 100;
}

// "2026-11-21 20:16:00 UTC"
std::string moment_text(Sandbox::Time time) {
  std::string text = json::utc_text(time).substr(0, 19);
  text[10] = ' ';
  return text + " UTC";
}

// Nobody believes of a disk that is nearly empty that it is full: what is missing there is the room
// for one large file.
std::string full_text(const std::string& disk, const Refusal& refusal) {
  constexpr double full = 0.9;
  const double used = refusal.used.value_or(0);
  const double limit = refusal.limit.value_or(0);
  const std::string text = used < full * limit ? "it does not fit on " + disk : disk + " is full";
  return text + ": " + json::number_text(used) + " of " + json::number_text(limit) + " MB are used";
}

// What ended a process that its sandbox took along.
Outcome of_a_sandbox_that_ended(LivingSandbox::Cause cause, const Outcome& of_the_sandbox) {
  using Cause = LivingSandbox::Cause;
  switch (cause) {
    case Cause::deleted:
      return plain("cancelled", "the sandbox was deleted");
    case Cause::lifetime:
      return plain("cancelled", "the sandbox's time was over");
    default:
      return plain("cancelled", "the sandbox ended: " + of_the_sandbox.cause);
  }
}

}  // namespace

Outcome Sandboxes::outcome_of_process(const Sandbox& sandbox, const LivingProcess& process,
                                      const jail::ExitReport& report) const {
  const bool is_stopped =
      report.ended == jail::Ended::cancelled || report.ended == jail::Ended::killed;
  if (is_stopped && !process.is_cancelled()) {
    LivingSandbox::Ending ending;
    const auto cause = sandbox.living()->cause_of_end();
    ending.cause = cause.value_or(LivingSandbox::Cause::jail);
    if (cause) return of_a_sandbox_that_ended(*cause, outcome_of(sandbox, ending));
  }
  RunRequest limits;
  limits.timeout = process.command().timeout.value_or(options_.max_lifetime);
  limits.memory_limit_mb = sandbox.limits().memory_mb;
  return runtime::outcome_of(
      limits, report, options_.max_lifetime,
      {.timeout = options_.max_lifetime, .memory_limit_mb = options_.max_memory_mb});
}

Outcome Sandboxes::outcome_of_a_server_that_ended() {
  return plain("server_ended", "the server ended");
}

Outcome Sandboxes::outcome_of_no_return(const std::string& why) {
  return plain("not_restarted", "the server was started again and could not bring it back (" + why +
                                    "); its files are kept, and the next start tries again");
}

Outcome Sandboxes::outcome_of_lifetime(std::chrono::milliseconds lived) const {
  return of_time("lifetime", "its time was over", RequestLimit::time, lived, options_.max_lifetime);
}

Outcome Sandboxes::outcome_of_a_long_pause() {
  return plain("lifetime", "it was paused for as long as a sandbox is kept");
}

Outcome Sandboxes::outcome_of_a_delete() { return plain("deleted", "it was deleted"); }

Outcome Sandboxes::outcome_of(const Sandbox& sandbox, const LivingSandbox::Ending& ending) const {
  using Cause = LivingSandbox::Cause;
  switch (ending.cause) {
    case Cause::deleted:
      return outcome_of_a_delete();
    case Cause::lifetime:
      return outcome_of_lifetime(sandbox.lived_before_ + sandbox.living()->lifetime());
    case Cause::idle:
      return of_time("idle", "nothing used it for as long as it may be idle", RequestLimit::idle,
                     sandbox.idle().value_or(std::chrono::milliseconds(0)), max_idle);
    case Cause::pause:
      return outcome_of_a_long_pause();
    case Cause::stopping:
      return outcome_of_a_server_that_ended();
    case Cause::disk:
      return outcome_of_disk(sandbox);
    case Cause::jail:
      break;
  }
  if (ending.report.ended == jail::Ended::timed_out) {
    return plain("lifetime", "its time was over, or its processes used up their processor time");
  }
  if (ending.report.ended != jail::Ended::out_of_memory) {
    return plain("killed", "it was killed from outside");
  }
  Outcome outcome;
  outcome.code = "out_of_memory";
  outcome.cause = "its processes and files needed more than the " +
                  std::to_string(sandbox.limits().memory_mb) + " MB of memory that they may have" +
                  held_by(ending.report.usage.processes_at_memory_limit);
  outcome.met = RequestLimit::memory;
  outcome.limit = outcome.asked = sandbox.limits().memory_mb;
  outcome.used = static_cast<double>(ending.report.usage.memory_peak_bytes) / (1u << 20);
  outcome.ceiling = options_.max_memory_mb;
  return outcome;
}

Outcome Sandboxes::outcome_of_volume(const VolumeMounts::One& volume) {
  Outcome outcome;
  outcome.code = "disk_full";
  const std::string name = "its volume " + volume.mount.volume;
  const DiskUse use = volume.disk->use();
  if (volume.disk->is_host_full()) {
    outcome.cause = "the host's disk was about to be full, and " + name + " is on it";
  } else if (use.bytes > volume.disk->limits().bytes) {
    outcome.cause = "the files in " + name + " took " + json::number_text(megabytes(use.bytes)) +
                    " MB, more than the " + std::to_string(volume.disk->limits().bytes >> 20) +
                    " MB that they may take; the volume and its files are kept, and a larger "
                    "size_mb makes room for more";
  } else if (use.files > volume.disk->limits().files) {
    outcome.cause = name + " had more than the " + std::to_string(volume.disk->limits().files) +
                    " files that it may have";
  } else {
    outcome.cause = "the files in " + name + " could not be counted";
  }
  return outcome;
}

Refusal Sandboxes::ended_refusal(const Sandbox& sandbox) {
  const auto end = sandbox.end();
  const std::string& name = sandbox.request().name;
  std::string detail = "sandbox " + (name.empty() ? sandbox.id() : name);
  detail += end ? " ended at " + moment_text(end->at) + ": " + end->outcome.cause : " has ended";
  return {.code = RefusalCode::sandbox_ended, .detail = std::move(detail)};
}

Outcome Sandboxes::outcome_of_disk(const Sandbox& sandbox) const {
  if (const auto* const volume = sandbox.full_volume()) return outcome_of_volume(*volume);
  Outcome outcome;
  outcome.code = "disk_full";
  outcome.cause = "its directory could not be looked at any more";
  if (sandbox.disk_ == nullptr) return outcome;
  const DiskUse use = sandbox.disk_->use();
  const SandboxDisk::Limits limits = sandbox.disk_->limits();
  if (sandbox.disk_->is_host_full()) {
    outcome.cause = "the host's disk was about to be full";
  } else if (!use.is_countable && use.seen != DiskUse::Seen::all) {
    outcome.cause = use.seen == DiskUse::Seen::unreadable
                        ? "its files could not be counted: a process kept itself from being read"
                        : "its files could not be counted: there was too much to read";
  } else if (!use.is_countable) {
    outcome.cause = "its directories lie too deep, or keep themselves from being counted";
  } else if (use.files > limits.files) {
    outcome.cause = "it had more than the " + std::to_string(limits.files) +
                    " files that it may have on its disk";
  } else if (use.bytes > limits.bytes) {
    outcome.cause = "its files took more than the " + std::to_string(sandbox.limits().disk_mb) +
                    " MB of disk that they may take";
    outcome.met = RequestLimit::disk;
    outcome.limit = outcome.asked = sandbox.limits().disk_mb;
    outcome.used = megabytes(use.bytes);
    outcome.ceiling = options_.max_directory_mb;
  }
  return outcome;
}

Refusal Sandboxes::refusal_of_file(const jail::Error& error) {
  const auto refusal = [&](RefusalCode code, std::string_view why) {
    return Refusal{.code = code, .detail = error.doing + ": " + std::string(why)};
  };
  if (error.kind == jail::ErrorKind::invalid) {
    return {.code = RefusalCode::bad_request, .detail = error.doing};
  }
  if (error.kind == jail::ErrorKind::exhausted && error.sys_errno == 0) {
    return {.code = RefusalCode::busy, .detail = error.doing + "; try again"};
  }
  if (error.kind == jail::ErrorKind::closed) {
    return {.code = RefusalCode::sandbox_ended, .detail = "the sandbox has ended"};
  }
  if (error.kind == jail::ErrorKind::refused) {
    return {.code = RefusalCode::not_a_file, .detail = error.doing};
  }
  switch (error.sys_errno) {
    case ENOENT:
      return refusal(RefusalCode::no_such_file, "there is no such file or directory");
    case ENOTDIR:
      return refusal(RefusalCode::not_a_directory, "a part of the path is no directory");
    case EISDIR:
      return refusal(RefusalCode::is_directory, "it is a directory");
    case EEXIST:
      return refusal(RefusalCode::exists, "something else is there already");
    case ENOTEMPTY:
      return refusal(RefusalCode::not_empty,
                     "the directory is not empty; recursive=true removes it with what is in it");
    case ENOSPC:
    case EDQUOT:
      return refusal(RefusalCode::disk_full, "the disk of the sandbox is full");
    case EROFS:
    case EACCES:
    case EPERM:
    case EBUSY:
      return refusal(RefusalCode::not_permitted, "not permitted there");
    case EAGAIN:
      return {.code = RefusalCode::busy, .detail = "names above it are being changed; try again"};
    case EXDEV:
      return refusal(RefusalCode::other_disk,
                     "move_to is on another disk of the sandbox: copy it, and remove it here");
    case ELOOP:
      return refusal(RefusalCode::too_many_links, "too many links or levels");
    case ENAMETOOLONG:
    case EINVAL:
      return refusal(RefusalCode::bad_request, "no path that can be used for this");
    default:
      return {.code = RefusalCode::internal_server_error, .detail = "the file could not be used"};
  }
}

Refusal Sandboxes::refusal_of_file(const jail::Error& error, const Sandbox& sandbox) {
  Refusal refusal = refusal_of_file(error);
  if (refusal.code != RefusalCode::disk_full) return refusal;
  if (const auto* const volume = sandbox.volume_of(error)) {
    refusal.limit = static_cast<double>(volume->disk->limits().bytes >> 20);
    refusal.used = megabytes(volume->disk->use().bytes);
    refusal.detail = error.doing + ": " + full_text("volume " + volume->mount.volume, refusal);
    return refusal;
  }
  const auto target = sandbox.usage_target();
  if (!target) return refusal;
  const SandboxUsage::Disk disk = fuller_disk(*target);
  if (disk.max_files > 0 && disk.files == disk.max_files) {
    refusal.detail += ": it has no room for another name";
    refusal.limit = static_cast<double>(disk.max_files);
    refusal.used = static_cast<double>(disk.files);
  } else {
    refusal.limit = megabytes(disk.size_bytes);
    refusal.used = megabytes(disk.used_bytes);
    refusal.detail = error.doing + ": " + full_text("the disk of the sandbox", refusal);
  }
  return refusal;
}

}  // namespace runtime
