#include "runtime/sandbox/runner.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "jail/launcher.h"
#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/jail_base.h"
#include "runtime/sandbox/jail_handle.h"
#include "runtime/sandbox/jail_limits.h"
#include "runtime/sandbox/language.h"
#include "runtime/sandbox/launchers.h"
#include "runtime/sandbox/leaf_sweeper.h"
#include "runtime/sandbox/living_spec.h"
#include "runtime/sandbox/network_news.h"
#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/run.h"
#include "runtime/sandbox/template_choice.h"
#include "runtime/sandbox/time_source.h"
#include "runtime/sandbox/waiting_node.h"
#include "runtime/sandbox/warm_fit.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Error;
using jail::Result;

// A guest can make reading its artifacts take a second; with several threads other runs' artifacts
// need not wait.
constexpr std::size_t collector_threads = 2;

// A template with its files read.
struct Prepared {
  std::string name;
  Language language = Language::python;
  JailBase base;
  std::shared_ptr<WarmPool> pool;  // null where no jail waits
  std::atomic<std::uint64_t> cold{0};
};

Result<std::shared_ptr<PoolHandle>> open_living(Launchers& launchers,
                                                const jail::TemplateSpec& spec,
                                                const jail::PoolOptions& options) {
  auto launcher = launchers.living();
  if (!launcher) return launcher.error();
  return open_pool(std::move(*launcher), spec, options);
}

jail::PoolOptions pool_options(const PoolSize& size) {
  jail::PoolOptions options;
  options.least = size.least;
  options.usual = size.usual;
  options.most = size.most;
  return options;
}

// An io_context has one thread in this project.
bool does_one_thing_after_the_other(const asio::any_io_executor& executor) {
  return executor.target<asio::io_context::executor_type>() != nullptr ||
         executor.target<asio::strand<asio::any_io_executor>>() != nullptr;
}

class JailRunner final : public Runner {
 public:
  JailRunner(asio::any_io_executor executor, RunnerOptions options,
             std::shared_ptr<Launchers> launchers, std::shared_ptr<NetworkNews> network_news,
             JailBase base)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        admission_(std::make_shared<Admission>(options_.max_running, options_.max_queued,
                                               options_.max_of_a_caller)),
        launchers_(std::move(launchers)),
        network_news_(std::move(network_news)),
        base_(std::move(base)),
        setting_(setting()) {
    if (options_.cgroups) sweeper_ = std::make_shared<LeafSweeper>(executor_, *options_.cgroups);
  }

  // The processes of waiting jails take a moment to end, and their leaves can be removed only then.
  ~JailRunner() override {
    if (collectors_) collectors_->join();
    templates_.clear();
    if (!options_.cgroups) return;
    for (int tries = 0; tries < 100 && options_.cgroups->remove_ended() > 0; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  // Opens the pool of Python's default template; other pools are opened when they are first
  // requested.
  Result<void> prepare_templates() {
    for (const Template& what : options_.templates) {
      auto base = jail_base_of(what, base_);
      if (!base) return base.error();
      auto prepared = std::make_unique<Prepared>();
      prepared->name = what.name;
      prepared->language = what.language;
      prepared->base = std::move(*base);
      if (what.pool.usual > 0) {
        prepared->pool = std::make_shared<WarmPool>(
            executor_, clock_,
            [launchers = launchers_](const jail::TemplateSpec& spec,
                                     const jail::PoolOptions& options) {
              return open_living(*launchers, spec, options);
            },
            template_spec(what, prepared->base), pool_options(what.pool), options_.on_pool_trouble);
        if (what.name == name_of(Language::python)) prepared->pool->open();
      }
      templates_.push_back(std::move(prepared));
    }
    return {};
  }

  std::optional<Admission::Claim> claim(const std::string& caller) override {
    return admission_->claim(caller);
  }

  asio::awaitable<Result<RunResult>> run(RunRequest request, RunOptions options) override {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    if (!does_one_thing_after_the_other(executor)) {
      auto result = co_await asio::co_spawn(asio::make_strand(executor),
                                            run_on_strand(std::move(request), std::move(options)),
                                            asio::use_awaitable);
      co_return std::move(*result);
    }
    ++total_;
    const auto network = network_news_->listen(request.network);
    const bool result_first = options.result_first;
    auto run = std::make_unique<Run>(executor, setting_, std::move(request), std::move(options));
    auto result = co_await run->result();
    if (result_first) {
      run->finish();
      asio::post(executor, [run = std::move(run), sweeper = sweeper_]() mutable {
        let_go(std::move(run), sweeper.get());
      });
    } else {
      let_go(std::move(run), sweeper_.get());
    }
    if (network != nullptr && result) {
      co_await launchers_->catch_up();
      result->network = network->take();
    }
    co_return result;
  }

  Result<LivingJail> launch_living(const LivingRequest& request) override {
    const JailBase* base = &base_;
    const Prepared* prepared = nullptr;
    if (!request.template_name.empty() && request.template_name != no_template) {
      prepared = prepared_named(request.template_name);
      if (prepared == nullptr) return jail::invalid("template: there is no such one");
      base = &prepared->base;
    }
    if (request.is_warm) return launch_warm(request, prepared);
    jail::JailSpec spec = living_spec(request, operator_limits(), options_.jail_file.get());
    spec.root = *base->root;
    spec.filter = terminal_filter(*base);
    auto launched = launchers_->launch(spec, request.failed);
    if (!launched) return launched.error();
    return living_jail(request, prepared, std::move(launched->jail), std::move(launched->launcher));
  }

  Result<std::string> explain(const RunRequest& request) override {
    const Prepared* const prepared = prepared_for(request);
    return launchers_->current()->explain(
        spec_of(request, prepared == nullptr ? base_ : prepared->base));
  }

  asio::awaitable<void> catch_up_with_network() override { return launchers_->catch_up(); }

  RunnerState state() const override {
    RunnerState state;
    state.running = admission_->running();
    state.queued = admission_->queued();
    state.max_running = options_.max_running;
    state.max_queued = options_.max_queued;
    state.max_of_a_caller = options_.max_of_a_caller;
    state.total = total_.load();
    state.enforcement = launchers_->current()->enforcement();
    state.has_own_users = options_.ids != nullptr;
    state.landlock = launchers_->current()->landlock_version();
    for (const auto& prepared : templates_) {
      if (prepared->pool == nullptr) continue;
      state.pools.push_back({.name = prepared->name,
                             .state = prepared->pool->state(),
                             .cold = prepared->cold.load()});
    }
    return state;
  }

 private:
  using Way = Acquisition::Way;

  // The jail gives its leaf up now, and not after the sweeper has found nothing to do.
  static void let_go(std::unique_ptr<Run> run, LeafSweeper* sweeper) {
    run.reset();
    if (sweeper != nullptr) sweeper->sweep_soon();
  }

  Result<LivingJail> launch_warm(const LivingRequest& request, const Prepared* prepared) {
    if (auto refused = why_not_warm(prepared); !refused.empty()) {
      return Error{jail::ErrorKind::unsupported, std::move(refused), 0, {}};
    }
    const jail::JailSpec spec = living_spec(request, operator_limits(), nullptr);
    auto launched = prepared->pool->launch_living(spec.limits, *spec.max_limits);
    if (!launched) return std::move(launched).error();
    LivingJail living =
        living_jail(request, prepared, std::move(launched->jail), std::move(launched->launcher));
    const jail::TemplateSpec& forked = prepared->pool->spec();
    living.zygote.emplace(Zygote{
        .argv = forked.jail.argv, .env = forked.jail.env, .has_imports = !forked.imports.empty()});
    return living;
  }

  // Empty where the template can fork programs into a living jail.
  std::string why_not_warm(const Prepared* prepared) const {
    if (prepared == nullptr) return "warm: a jail without a template has no warm interpreter";
    if (prepared->pool == nullptr) return "warm: no jail of template " + prepared->name + " waits";
    if (prepared->pool->spec().warmth != jail::Warmth::forked) {
      return "warm: programs of template " + prepared->name + " are not forked, Python's alone are";
    }
    if (jail::landlock_reach().signals) return {};
    return "warm: it takes Linux 6.12 with Landlock, which this host does not have";
  }

  LivingJail living_jail(const LivingRequest& request, const Prepared* prepared, jail::Jail jail,
                         std::shared_ptr<const jail::Launcher> launcher) const {
    LivingJail living{
        .jail = std::move(jail), .launcher = std::move(launcher), .network = request.network};
    if (sweeper_ != nullptr) living.on_given_up = [sweeper = sweeper_] { sweeper->sweep_soon(); };
    living.egress = [launchers = launchers_] { return launchers->egress(); };
    if (prepared != nullptr) living.language = prepared->language;
    return living;
  }

  // The result is optional because the result type of a spawned coroutine needs a default value.
  asio::awaitable<std::optional<Result<RunResult>>> run_on_strand(RunRequest request,
                                                                  RunOptions options) {
    co_return co_await run(std::move(request), std::move(options));
  }

  Run::Setting setting() {
    return {
        .output_cap_bytes = options_.output_cap_bytes,
        .cpu_percent = options_.cpu_percent,
        .ceilings = {.timeout = options_.max_timeout, .memory_limit_mb = options_.max_memory_mb},
        .clock = clock_,
        .admission = admission_,
        .launch =
            [this](const RunRequest& request, Way way, const JailMaker& failed,
                   const WarmPool::MakeTicket& later) {
              return jail_for(request, way, failed, later);
            },
        .make_room = [this] { return give_up_one(); },
        .collectors = [this] { return collectors(); }};
  }

  // The template with the most jails that nobody waits for gives up one of them. If its last one
  // was leased since they were counted, the next template is asked.
  bool give_up_one() {
    std::vector<std::pair<std::uint32_t, WarmPool*>> stocks;
    for (const auto& prepared : templates_) {
      if (prepared->pool == nullptr) continue;
      const jail::PoolState state = prepared->pool->state();
      stocks.emplace_back(state.ready + state.refilling, prepared->pool.get());
    }
    std::ranges::sort(stocks, std::greater<>());
    return std::ranges::any_of(
        stocks, [](const auto& stock) { return stock.first > 0 && stock.second->give_up_one(); });
  }

  asio::any_io_executor collectors() {
    std::call_once(collectors_made_, [this] { collectors_.emplace(collector_threads); });
    return collectors_->get_executor();
  }

  jail::JailSpec spec_of(const RunRequest& request, const JailBase& base) {
    jail::JailSpec spec;
    spec.argv = arguments_of(request);
    spec.env = environment_of(request);
    spec.root = *base.root;
    spec.terminal = request.terminal;
    spec.filter = request.terminal ? terminal_filter(base) : base.filter;
    spec.network = request.network;
    spec.limits.wall = request.timeout;
    spec.limits.cpu = cpu_of(request.timeout);
    spec.limits.cpu_percent = options_.cpu_percent;
    spec.limits.memory_bytes = std::uint64_t{request.memory_limit_mb} << 20;
    if (request.max_processes) spec.limits.processes = *request.max_processes;
    if (request.disk_limit_mb) limit_disk(spec.limits, *request.disk_limit_mb);
    if (options_.jail_file != nullptr) add_jail_file(spec, *options_.jail_file);
    if (runs_in_node(request.language)) spec.root.files.push_back(waiting_module());
    return spec;
  }

  // With what shells do with a terminal, unless an operator's policy contradicts it. Made when it
  // is first needed.
  jail::FilterProgram terminal_filter(const JailBase& base) {
    const std::lock_guard lock(terminal_filters_mutex_);
    const auto [place, is_new] = terminal_filters_.try_emplace(&base);
    if (is_new) {
      auto filter = jail::compile_policy(jail::with_rules(*base.policy, jail::terminal_rules()));
      place->second = filter ? *filter : base.filter;
    }
    return place->second;
  }

  OperatorLimits operator_limits() const {
    return {.memory_mb = options_.max_memory_mb, .cpu_percent = options_.cpu_percent};
  }

  std::chrono::milliseconds cpu_of(std::chrono::milliseconds wall) const {
    return cpu_within(wall, options_.cpu_percent);
  }

  // Returns the template's jails as a request with a program and no options would get them.
  jail::TemplateSpec template_spec(const Template& what, const JailBase& base) {
    RunRequest plain;
    plain.language = what.language;
    plain.memory_limit_mb = options_.usual_memory_mb;
    const std::uint32_t max_mb =
        what.memory_limit_mb == 0 ? options_.max_memory_mb : what.memory_limit_mb;
    jail::TemplateSpec spec;
    spec.name = what.name;
    spec.warmth = what.warmth;
    spec.jail = spec_of(plain, base);
    if (what.warmth == jail::Warmth::started) {
      spec.jail.argv = waiting_arguments_of(plain);
      if (runs_in_node(what.language)) {
        spec.env_at_start = env_of_waiting_node(spec.jail.env);
      }
    }
    spec.max_memory_bytes = std::uint64_t{max_mb} << 20;
    spec.max_cpu = cpu_of(options_.max_timeout);
    spec.imports = what.imports;
    spec.warm_up = what.warm_up;
    spec.after_fork = what.after_fork;
    spec.rehearsal = what.rehearsal;
    return spec;
  }

  // Returns null where the request wants a jail of its own, or there is no template for it.
  Prepared* prepared_for(const RunRequest& request) const {
    return prepared_named(template_of(request));
  }

  Prepared* prepared_named(std::string_view name) const {
    for (const auto& prepared : templates_) {
      if (prepared->name == name) return prepared.get();
    }
    return nullptr;
  }

  std::optional<Result<Leased>> jail_for(const RunRequest& request, Way way,
                                         const JailMaker& failed,
                                         const WarmPool::MakeTicket& later) {
    if (way == Way::any) {
      auto leased = jail_by_imports(request, later);
      if (!leased || *leased) return leased;
    }
    Prepared* const prepared = prepared_for(request);
    if (prepared == nullptr) return launch(request, base_, failed);
    if (prepared->pool == nullptr || request.terminal) return launch_as(*prepared, request, failed);
    if (way == Way::any) {
      const WarmFit fit = fit_of(*prepared, request);
      if (fit == WarmFit::cold) return launch_as(*prepared, request, failed);
      const bool named = !request.template_name.empty();
      auto leased = take(*prepared, request, fit,
                         named ? WarmPool::Patience::until_ready : WarmPool::Patience::none, later);
      if (!leased || *leased) return leased;
    }
    ++prepared->cold;
    return launch_as(*prepared, request, failed);
  }

  // Returns a jail of the template that has what the program imports, or std::nullopt where the
  // request waits for one. Returns an Error where there is no such template or it has no jail for
  // the request; the language's own template then does as well.
  std::optional<Result<Leased>> jail_by_imports(const RunRequest& request,
                                                const WarmPool::MakeTicket& later) {
    // Numeric libraries use one thread in a fork, and several where they are imported anew.
    const bool one_core = options_.cpu_percent <= 100;
    const Template* const chosen =
        one_core && !request.terminal ? template_by_imports(options_.templates, request) : nullptr;
    Prepared* const prepared = chosen == nullptr ? nullptr : prepared_named(chosen->name);
    const bool has_pool = prepared != nullptr && prepared->pool != nullptr;
    const WarmFit fit = has_pool ? fit_of(*prepared, request) : WarmFit::cold;
    if (fit == WarmFit::cold) {
      return Error{jail::ErrorKind::unsupported, "choose a template by imports", 0, {}};
    }
    return take(*prepared, request, fit, WarmPool::Patience::none, later);
  }

  WarmFit fit_of(const Prepared& prepared, const RunRequest& request) const {
    return warm_fit(prepared.pool->spec(), request, cpu_of(request.timeout));
  }

  static std::optional<Result<Leased>> take(const Prepared& prepared, const RunRequest& request,
                                            WarmFit fit, WarmPool::Patience patience,
                                            const WarmPool::MakeTicket& later) {
    std::optional<jail::Invocation> invocation;
    if (fit == WarmFit::launch) {
      invocation = {.arguments = request.args, .env = environment_of(request)};
    }
    return prepared.pool->take(invocation, patience, later);
  }

  Result<Leased> launch_as(const Prepared& prepared, const RunRequest& request,
                           const JailMaker& failed) {
    auto leased = launch(request, prepared.base, failed);
    if (leased) leased->template_name = prepared.name;
    return leased;
  }

  Result<Leased> launch(const RunRequest& request, const JailBase& base, const JailMaker& failed) {
    auto launched = launchers_->launch(spec_of(request, base), failed);
    if (!launched) return launched.error();
    const std::shared_ptr<jail::Launcher>& launcher = launched->launcher;
    return Leased{.jail = handle_of(std::move(launched->jail)),
                  .maker = launcher,
                  .maker_has_ended = [launcher] { return has_ended(*launcher); }};
  }

  const asio::any_io_executor executor_;
  const RunnerOptions options_;
  const std::shared_ptr<Admission> admission_;
  const std::shared_ptr<Launchers> launchers_;
  const std::shared_ptr<NetworkNews> network_news_;
  const std::shared_ptr<const TimeSource> clock_ = system_time();
  const JailBase base_;
  const Run::Setting setting_;
  std::vector<std::unique_ptr<Prepared>> templates_;  // the same all the time
  std::mutex terminal_filters_mutex_;
  std::map<const JailBase*, jail::FilterProgram> terminal_filters_;
  std::shared_ptr<LeafSweeper> sweeper_;  // null without cgroups
  std::atomic<std::uint64_t> total_{0};
  std::once_flag collectors_made_;
  std::optional<asio::thread_pool> collectors_;  // where artifacts are read
};

}  // namespace

Result<std::unique_ptr<Runner>> Runner::create(asio::any_io_executor executor,
                                               RunnerOptions options) {
  // The launcher is first: while it is loaded, this process goes on with the policy.
  const auto news = std::make_shared<NetworkNews>();
  auto launchers = Launchers::start({.executor = executor,
                                     .cgroups = options.cgroups,
                                     .ids = options.ids,
                                     .egress = options.egress,
                                     .on_egress = news->before(options.on_egress)});
  if (!launchers) return launchers.error();
  const std::shared_ptr<const jail::Policy> policy(
      options.jail_file,
      options.jail_file == nullptr ? &jail::default_policy() : &options.jail_file->policy);
  Result<jail::FilterProgram> filter = jail::compile_policy(*policy);
  if (!filter) return filter.error();
  JailBase base{.root = options.root, .policy = policy, .filter = std::move(*filter)};
  if (base.root == nullptr) base.root = std::make_shared<const jail::Root>(jail::host_root());
  auto runner = std::make_unique<JailRunner>(std::move(executor), std::move(options),
                                             std::move(*launchers), news, std::move(base));
  if (auto prepared = runner->prepare_templates(); !prepared) return prepared.error();
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace runtime
