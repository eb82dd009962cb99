// Jails that wait: made, confined and warmed up ahead of the request that needs one. A jail serves
// one program, once; the pool makes another in its place.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jail/jail.h"
#include "jail/launcher.h"
#include "jail/result.h"
#include "jail/spec.h"

namespace jail {

// How far a waiting jail has come.
enum class Warmth : std::uint8_t {
  prepared,  // the jail stands; start() executes the program
  // An interpreter runs in it and waits at the place where its program's file will be. It found out
  // about its directory before: suits one that reads its program once and to the end, like node.
  started,
  forked,  // the program is a fork of a warm CPython (the zygote) that waits before its first line
};

// What makes forked jails cheap. Each stands for itself and can be turned off, to measure it or to
// live with a program that it does not suit.
enum class Optimization : std::uint8_t { on, off };
// For which zygotes the memory is moved into a file.
enum class FrozenHeap : std::uint8_t { if_large, never, always };
// One optimization each; the defaults are the fast ones.
struct ForkOptimizations {
  // A fork runs a small program before it is ready, so that the pages which every program writes
  // are its own when the real one comes. Not where somebody waits for the jail: it costs more than
  // it saves the one program.
  Optimization rehearsal = Optimization::on;
  // The end of a program is reported when it calls exit_group(), before its memory is taken apart.
  Optimization early_end = Optimization::on;
  // A network namespace that no packet has passed serves another jail.
  Optimization network_reuse = Optimization::on;
  // The zygote's memory is moved into a file that its forks map: a fork then costs the same
  // whatever the zygote holds. A small one is cheaper to fork as it is.
  FrozenHeap frozen_heap = FrozenHeap::if_large;
};

// What the jails of one pool have in common.
struct TemplateSpec {
  std::string name;  // 1 to 32 of a-z, 0-9, '-' and '_'
  Warmth warmth = Warmth::forked;
  // As for a cold launch of the same program. With Warmth::forked argv is the interpreter and the
  // program's file, with Warmth::started it ends in the program's file, in the working directory;
  // that has to be written before start(). The limits are those that jails wait
  // with; start() sets a run's own.
  JailSpec jail;
  std::uint64_t max_memory_bytes = 2048u << 20;  // that a start() may ask for
  std::chrono::milliseconds max_cpu{60'000};     // the same
  // With Warmth::forked, what the zygote does before it forks anything. Trusted code.
  std::vector<std::string> imports;  // modules, in this order
  std::string warm_up;               // Python, run once after the imports
  // Python, run in each jail before it is ready, and in a warm process just before its program.
  std::string after_fork;
  // Python that touches what programs use and changes nothing: run in the zygote, and before it is
  // ready in each jail that nobody waits for.
  std::string rehearsal;
  ForkOptimizations optimizations;
};

// How many jails wait, and how long a zygote lives.
struct PoolOptions {
  std::uint32_t least = 2;  // jails that are kept ready when nobody comes
  std::uint32_t usual = 8;  // to begin with; the pool adapts between the other two
  std::uint32_t most = 64;
  // A zygote's jails share one hash seed and one address space layout: a new zygote takes over
  // after this many forks or this long, whichever comes first.
  std::uint32_t forks_per_zygote = 10'000;
  std::chrono::seconds zygote_age{600};
};

// A pool at one moment, for metrics and health checks.
struct PoolState {
  std::uint32_t ready = 0;      // wait to be leased
  std::uint32_t refilling = 0;  // are being made
  std::uint32_t leased = 0;     // leased and not yet given up
  std::uint32_t target = 0;     // how many the pool wants ready
  std::uint64_t leases = 0;     // since it was opened
  std::uint64_t misses = 0;     // of these, made on demand because none was ready
  std::uint64_t zygotes = 0;    // started so far; 0 unless Warmth::forked
  std::uint64_t failures = 0;   // jails and zygotes that could not be made
  std::string trouble;          // why no jail can be made; empty while all is well
};

// Arguments and variables of one program, beside what the template has.
struct Invocation {
  std::vector<std::string> arguments;  // after argv of the template
  std::vector<std::string> env;        // "NAME=value", all of them: instead of the template's
};

// Thread-safe. Its owner's event loop watches event_fd(); whichever thread calls advance().
class Pool {
 public:
  // Does not wait: jails become ready while advance() is called. When `launcher` has ended the pool
  // can make no more of them.
  // Errors: invalid or refused (names the field), exhausted, closed, kernel.
  static Result<Pool> open(const Launcher& launcher, TemplateSpec spec, PoolOptions options);

  Pool(Pool&&) noexcept;
  Pool& operator=(Pool&&) noexcept;
  ~Pool();  // kills the jails that wait; leased ones go on

  // Readable when advance() has something to do, also after a while for the pool's own clock.
  // Owned by the Pool.
  int event_fd() const noexcept;

  // Takes note of what happened and refills. Never blocks.
  void advance();

  // A jail that nobody has used: in Phase::ready, or in Phase::launching where none was ready.
  // Errors: exhausted (as many are being made as the pool makes at once, try again), closed or
  // kernel (no jail can be made; PoolState::trouble says why, and the pool goes on trying).
  Result<Jail> lease();

  // A jail for a program with arguments or variables of its own, which it must find in its memory
  // where a process has them (/proc/self/cmdline): always made on demand.
  // Errors: as lease(), and unsupported unless Warmth::forked.
  Result<Jail> launch(const Invocation& invocation);

  // A living jail of the template (JailSpec::life), always made on demand, in which the zygote
  // forks processes (ProcessSpec::warm) as long as it is the pool's; afterwards they are executed
  // alone. In Phase::launching. Its processes neither signal nor see each other. Errors: as
  // launch(), and unsupported where Landlock does not scope signals (Linux 6.12).
  Result<Jail> launch_living();

  // Ends a jail that waits, or one that is being made to wait, and makes no more ahead for five
  // seconds, for an owner who lacks what it takes: a pool does not know of others. Requests go on
  // being served. False: there is none.
  bool give_up_one();

  // What waits, what was leased and what went wrong so far.
  PoolState state() const;

 private:
  struct State;
  explicit Pool(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace jail
