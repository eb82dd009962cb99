#include "bench/source.h"

#include <utility>

#include "jail/policy.h"
#include "runtime/sandbox/language.h"
#include "runtime/sandbox/program_root.h"

namespace bench {
namespace {

using jail::Jail;
using jail::JailSpec;
using jail::Launcher;
using jail::Pool;
using jail::Result;

// The spec that the server uses for a program of one file without arguments.
Result<JailSpec> spec_of(const SourceOptions& options) {
  auto root = runtime::find_program_root(options.root, {});
  if (!root) return root.error();
  auto filter = jail::compile_policy(jail::default_policy());
  if (!filter) return filter.error();
  const runtime::RunRequest request;
  JailSpec spec;
  spec.argv = runtime::arguments_of(request);
  spec.env = runtime::environment_of(request);
  spec.root = *root->view;
  spec.filter = std::move(*filter);
  spec.limits.memory_bytes = std::uint64_t{options.memory_mb} << 20;
  return spec;
}

class ColdSource final : public Source {
 public:
  ColdSource(Launcher launcher, JailSpec spec)
      : launcher_(std::move(launcher)), spec_(std::move(spec)) {}

  Result<Jail> lease() override { return launcher_.launch(spec_); }
  Result<void> start(Jail& jail) override { return jail.start(); }

 private:
  const Launcher launcher_;
  const JailSpec spec_;
};

class PoolSource final : public Source {
 public:
  PoolSource(std::unique_ptr<Launcher> launcher, Pool pool, const SourceOptions& options)
      : launcher_(std::move(launcher)), pool_(std::move(pool)) {
    limits_.memory_bytes = std::uint64_t{options.memory_mb} << 20;
  }

  Result<Jail> lease() override { return pool_.lease(); }
  Result<void> start(Jail& jail) override { return jail.start(limits_); }
  int event_fd() const override { return pool_.event_fd(); }
  jail::PoolState state() const override { return pool_.state(); }
  std::string last_trouble() const override { return last_trouble_; }

  void advance() override {
    pool_.advance();
    std::string trouble = pool_.state().trouble;
    if (!trouble.empty()) last_trouble_ = std::move(trouble);
  }

 private:
  const std::unique_ptr<Launcher> launcher_;
  Pool pool_;
  jail::RunLimits limits_;
  std::string last_trouble_;
};

// A string of eight letters takes 57 bytes, rounded up to 64, and 8 in the list.
std::string snippet_with_state(std::uint64_t mb) {
  return "state = ['%08d' % number for number in range(" + std::to_string((mb << 20) / 72) + ")]\n";
}

}  // namespace

Result<std::unique_ptr<Source>> open_cold(const SourceOptions& options) {
  auto spec = spec_of(options);
  if (!spec) return spec.error();
  auto launcher = Launcher::start();
  if (!launcher) return launcher.error();
  return std::unique_ptr<Source>(
      std::make_unique<ColdSource>(std::move(*launcher), std::move(*spec)));
}

Result<std::unique_ptr<Source>> open_pool(const SourceOptions& options) {
  auto spec = spec_of(options);
  if (!spec) return spec.error();
  auto started = Launcher::start();
  if (!started) return started.error();
  auto launcher = std::make_unique<Launcher>(std::move(*started));
  jail::TemplateSpec wanted;
  wanted.name = options.name;
  wanted.jail = std::move(*spec);
  wanted.imports = options.imports;
  wanted.warm_up = options.warm_up;
  wanted.after_fork = options.after_fork;
  wanted.rehearsal = options.rehearsal;
  wanted.optimizations = options.optimizations;
  if (options.state_mb > 0) wanted.warm_up += snippet_with_state(options.state_mb);
  jail::PoolOptions pool_options;
  if (options.ready > 0) {
    pool_options.least = pool_options.usual = pool_options.most = options.ready;
  }
  auto pool = Pool::open(*launcher, std::move(wanted), pool_options);
  if (!pool) return pool.error();
  return std::unique_ptr<Source>(
      std::make_unique<PoolSource>(std::move(launcher), std::move(*pool), options));
}

}  // namespace bench
