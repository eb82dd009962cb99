// The pages that every fork of a zygote writes to, made a fork's own in few calls instead of one
// page fault each.
#pragma once

#include <cstdint>

namespace jail::zygote {

// How far a guest comes: before it is ready, or with a program to its end.
enum class Reach : std::uint8_t { renewed, rehearsed, ended };

// What a guest does until then; each is done with `own`.
struct GuestWork {
  void (*renew)(void* own);
  void (*rehearse)(void* own);
  void (*run_to_end)(void* own);
  void* own;
};

// Forks a process that does this work and ends, and notes the pages that it wrote to. What a fork
// does first depends on the zygote alone, so these are the same for all. After a failure nothing is
// known.
void learn_pages(const GuestWork& work);

// In a guest: makes the pages that it writes to until it is ready, and then until its end, its own.
// They count for it as they would after a page fault. `reach` is how far it comes before it is
// ready.
void take_known_pages(Reach reach);

}  // namespace jail::zygote
