#include <algorithm>

#include "c/boundary.h"
#include "c/handles.h"

namespace jail::c {
namespace {

static_assert(static_cast<int>(Warmth::prepared) == JAIL_WARMTH_PREPARED);
static_assert(static_cast<int>(Warmth::started) == JAIL_WARMTH_STARTED);
static_assert(static_cast<int>(Warmth::forked) == JAIL_WARMTH_FORKED);
static_assert(static_cast<int>(Optimization::on) == JAIL_OPTIMIZATION_ON);
static_assert(static_cast<int>(Optimization::off) == JAIL_OPTIMIZATION_OFF);
static_assert(static_cast<int>(FrozenHeap::if_large) == JAIL_FROZEN_HEAP_IF_LARGE);
static_assert(static_cast<int>(FrozenHeap::never) == JAIL_FROZEN_HEAP_NEVER);
static_assert(static_cast<int>(FrozenHeap::always) == JAIL_FROZEN_HEAP_ALWAYS);

Result<ForkOptimizations> optimizations_of(const jail_fork_optimizations* given) {
  const Result<jail_fork_optimizations> read = read_struct("jail_fork_optimizations", given);
  if (!read) return read.error();
  const auto rehearsal =
      mirrored("jail_fork_optimizations.rehearsal", read->rehearsal, Optimization::off);
  if (!rehearsal) return rehearsal.error();
  const auto early_end =
      mirrored("jail_fork_optimizations.early_end", read->early_end, Optimization::off);
  if (!early_end) return early_end.error();
  const auto reuse =
      mirrored("jail_fork_optimizations.network_reuse", read->network_reuse, Optimization::off);
  if (!reuse) return reuse.error();
  const auto frozen =
      mirrored("jail_fork_optimizations.frozen_heap", read->frozen_heap, FrozenHeap::always);
  if (!frozen) return frozen.error();
  const auto pages =
      mirrored("jail_fork_optimizations.known_pages", read->known_pages, Optimization::off);
  if (!pages) return pages.error();
  if (read->reserved != 0) return invalid("jail_fork_optimizations.reserved: not 0");
  const auto immortal = mirrored("jail_fork_optimizations.immortal_objects", read->immortal_objects,
                                 Optimization::off);
  if (!immortal) return immortal.error();
  const auto fresh =
      mirrored("jail_fork_optimizations.fresh_memory", read->fresh_memory, Optimization::off);
  if (!fresh) return fresh.error();
  return ForkOptimizations{.rehearsal = *rehearsal,
                           .early_end = *early_end,
                           .network_reuse = *reuse,
                           .frozen_heap = *frozen,
                           .known_pages = *pages,
                           .immortal_objects = *immortal,
                           .fresh_memory = *fresh};
}

std::uint32_t or_none(std::uint32_t given, std::uint32_t standard) {
  return given == JAIL_POOL_NONE ? 0 : or_default(given, standard);
}

Result<PoolOptions> options_of(const jail_pool_options* given) {
  const Result<jail_pool_options> read = read_struct("jail_pool_options", given);
  if (!read) return read.error();
  constexpr std::uint64_t century = 100ull * 366 * 24 * 3600;
  if (read->zygote_age_s > century)
    return invalid("jail_pool_options.zygote_age_s: more than a century");
  PoolOptions options;
  options.most = or_default(read->most, options.most);
  // The defaults of the smaller two are lowered to a `most` that is below them.
  options.least = or_none(read->least, std::min(options.least, options.most));
  options.usual = or_none(
      read->usual, std::clamp(options.usual, options.least, std::max(options.least, options.most)));
  options.forks_per_zygote = or_default(read->forks_per_zygote, options.forks_per_zygote);
  if (read->zygote_age_s != 0) options.zygote_age = std::chrono::seconds(read->zygote_age_s);
  return options;
}

jail_pool_state state_of(const PoolState& state) {
  jail_pool_state told{};
  told.ready = state.ready;
  told.refilling = state.refilling;
  told.leased = state.leased;
  told.target = state.target;
  told.leases = state.leases;
  told.misses = state.misses;
  told.zygotes = state.zygotes;
  told.failures = state.failures;
  const std::size_t length = std::min(state.trouble.size(), sizeof told.trouble - 1);
  std::copy_n(state.trouble.data(), length, told.trouble);
  return told;
}

Result<void> hand_over(Result<Jail> made, jail_jail** jail) {
  if (!made) return made.error();
  *jail = new jail_jail{std::move(*made)};
  return {};
}

// Sets one text of a template; NULL empties it.
jail_status set_text(const char* name, jail_template* templ, std::string TemplateSpec::*member,
                     const char* text, jail_error* error) {
  return guarded(name, {{"templ", templ}}, error, [&]() -> Result<void> {
    templ->spec.*member = text == nullptr ? "" : text;
    return {};
  });
}

}  // namespace
}  // namespace jail::c

using jail::Result;
using jail::TemplateSpec;
using jail::c::guarded;

extern "C" {

jail_status jail_template_new(const char* name, jail_warmth warmth, const jail_spec* spec,
                              jail_template** templ, jail_error* error) {
  return guarded(
      __func__, {{"name", name}, {"spec", spec}, {"templ", templ}}, error, [&]() -> Result<void> {
        const auto mirror = jail::c::mirrored("jail_warmth", warmth, jail::Warmth::forked);
        if (!mirror) return mirror.error();
        TemplateSpec made;
        made.name = name;
        made.warmth = *mirror;
        made.jail = spec->spec;
        *templ = new jail_template{std::move(made)};
        return {};
      });
}

void jail_template_destroy(jail_template* templ) { delete templ; }

jail_status jail_template_set_max(jail_template* templ, uint64_t memory_bytes, uint64_t cpu_ms,
                                  jail_error* error) {
  return guarded(__func__, {{"templ", templ}}, error, [&]() -> Result<void> {
    const auto cpu = jail::c::checked_time("cpu_ms", cpu_ms);
    if (!cpu) return cpu.error();
    const TemplateSpec standard;
    templ->spec.max_memory_bytes = jail::c::or_default(memory_bytes, standard.max_memory_bytes);
    templ->spec.max_cpu = cpu->count() > 0 ? *cpu : standard.max_cpu;
    return {};
  });
}

jail_status jail_template_set_imports(jail_template* templ, const char* const* modules,
                                      jail_error* error) {
  return guarded(__func__, {{"templ", templ}}, error, [&]() -> Result<void> {
    templ->spec.imports = jail::c::strings_of(modules);
    return {};
  });
}

jail_status jail_template_set_warm_up(jail_template* templ, const char* python, jail_error* error) {
  return jail::c::set_text(__func__, templ, &TemplateSpec::warm_up, python, error);
}

jail_status jail_template_set_after_fork(jail_template* templ, const char* python,
                                         jail_error* error) {
  return jail::c::set_text(__func__, templ, &TemplateSpec::after_fork, python, error);
}

jail_status jail_template_set_rehearsal(jail_template* templ, const char* python,
                                        jail_error* error) {
  return jail::c::set_text(__func__, templ, &TemplateSpec::rehearsal, python, error);
}

jail_status jail_template_set_optimizations(jail_template* templ,
                                            const jail_fork_optimizations* optimizations,
                                            jail_error* error) {
  return guarded(
      __func__, {{"templ", templ}, {"optimizations", optimizations}}, error, [&]() -> Result<void> {
        const Result<jail::ForkOptimizations> read = jail::c::optimizations_of(optimizations);
        if (!read) return read.error();
        templ->spec.optimizations = *read;
        return {};
      });
}

jail_status jail_pool_open(const jail_launcher* launcher, const jail_template* templ,
                           const jail_pool_options* options, jail_pool** pool, jail_error* error) {
  return guarded(__func__, {{"launcher", launcher}, {"templ", templ}, {"pool", pool}}, error,
                 [&]() -> Result<void> {
                   const Result<jail::PoolOptions> read = jail::c::options_of(options);
                   if (!read) return read.error();
                   Result<jail::Pool> opened =
                       jail::Pool::open(launcher->launcher, templ->spec, *read);
                   if (!opened) return opened.error();
                   *pool = new jail_pool{std::move(*opened)};
                   return {};
                 });
}

void jail_pool_destroy(jail_pool* pool) { delete pool; }

int jail_pool_event_fd(const jail_pool* pool) {
  return pool == nullptr ? -1 : pool->pool.event_fd();
}

jail_status jail_pool_advance(jail_pool* pool, jail_error* error) {
  return guarded(__func__, {{"pool", pool}}, error, [&]() -> Result<void> {
    pool->pool.advance();
    return {};
  });
}

jail_status jail_pool_lease(jail_pool* pool, jail_jail** jail, jail_error* error) {
  return guarded(__func__, {{"pool", pool}, {"jail", jail}}, error,
                 [&] { return jail::c::hand_over(pool->pool.lease(), jail); });
}

jail_status jail_pool_launch(jail_pool* pool, const char* const* arguments, const char* const* env,
                             jail_jail** jail, jail_error* error) {
  return guarded(__func__, {{"pool", pool}, {"jail", jail}}, error, [&]() -> Result<void> {
    const jail::Invocation invocation{jail::c::strings_of(arguments), jail::c::strings_of(env)};
    return jail::c::hand_over(pool->pool.launch(invocation), jail);
  });
}

jail_status jail_pool_launch_living(jail_pool* pool, jail_jail** jail, jail_error* error) {
  return guarded(__func__, {{"pool", pool}, {"jail", jail}}, error,
                 [&] { return jail::c::hand_over(pool->pool.launch_living(), jail); });
}

jail_status jail_pool_launch_living_within(jail_pool* pool, const jail_limits* limits,
                                           const jail_limits* max_limits, jail_jail** jail,
                                           jail_error* error) {
  return guarded(__func__, {{"pool", pool}, {"limits", limits}, {"jail", jail}}, error,
                 [&]() -> Result<void> {
                   const Result<jail::Limits> read = jail::c::jail_limits_of(limits);
                   if (!read) return read.error();
                   std::optional<jail::Limits> most;
                   if (max_limits != nullptr) {
                     Result<jail::Limits> read_most = jail::c::jail_limits_of(max_limits);
                     if (!read_most) return read_most.error();
                     most = *read_most;
                   }
                   return jail::c::hand_over(pool->pool.launch_living(*read, most), jail);
                 });
}

jail_status jail_pool_give_up_one(jail_pool* pool, int* given_up, jail_error* error) {
  return guarded(__func__, {{"pool", pool}, {"given_up", given_up}}, error, [&]() -> Result<void> {
    *given_up = pool->pool.give_up_one() ? 1 : 0;
    return {};
  });
}

jail_status jail_pool_read_state(const jail_pool* pool, jail_pool_state* state, jail_error* error) {
  return guarded(__func__, {{"pool", pool}, {"state", state}}, error, [&] {
    const jail_pool_state told = jail::c::state_of(pool->pool.state());
    return jail::c::write_struct("jail_pool_state", told, state);
  });
}

}  // extern "C"
