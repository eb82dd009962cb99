// One sandbox as its service knows it, alive or ended.
#include <mutex>
#include <optional>
#include <string_view>

#include "runtime/service/sandboxes.h"

namespace runtime {

Secret Sandbox::access_token() const {
  const std::lock_guard lock(mutex_);
  return access_token_;
}

std::optional<Cancel> Sandbox::access_by(std::string_view token) const {
  const std::lock_guard lock(mutex_);
  if (token.empty() || !access_token_.is(token)) return std::nullopt;
  return access_;
}

SandboxLimits Sandbox::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

Metadata Sandbox::metadata() const {
  const std::lock_guard lock(mutex_);
  return metadata_;
}

Sandbox::State Sandbox::state() const {
  if (end()) return State::ended;
  return living_->paused_since() ? State::paused : State::running;
}

Sandbox::Time Sandbox::ends_at() const {
  return living_ == nullptr ? last_ends_at_ : living_->ends_at();
}

std::optional<std::chrono::milliseconds> Sandbox::idle() const {
  return living_ == nullptr ? request_.idle : living_->idle();
}

std::vector<std::string> Sandbox::network_rules() const {
  return living_ == nullptr ? request_.network.network.rules : living_->network_rules();
}

std::vector<SecretName> Sandbox::secret_names() const {
  return living_ == nullptr ? std::vector<SecretName>() : living_->secret_names();
}

std::optional<Sandbox::Time> Sandbox::paused_since() const {
  if (end()) return std::nullopt;
  return living_->paused_since();
}

std::optional<Sandbox::End> Sandbox::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

jail::Result<UsageTarget> Sandbox::usage_target() const {
  auto target = living_->usage_target();
  if (!target) return target;
  if (enforcement_.memory == jail::Enforcer::cgroup) target->source = SandboxUsage::Source::cgroup;
  if (disk_ != nullptr) {
    const DiskUse use = disk_->use();
    target->on_disk = {.used_bytes = use.bytes,
                       .size_bytes = disk_->limits().bytes,
                       .files = use.files,
                       .max_files = disk_->limits().files};
  }
  return target;
}

}  // namespace runtime
