// Arguments for system calls, made by chance from what call_descriptions.h says of them and from
// what earlier calls have made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "call_descriptions.h"

namespace sequences {

// What the host has, which calls try to reach.
struct Bait {
  std::uint16_t port = 0;  // of the loopback interface
  const char* name = "";   // of an abstract socket
  const char* path = "";   // of a file
  long pid = 0;
};
inline Bait bait;

// The same numbers come after the same seed.
void begin_chance(std::uint64_t seed);
std::uint64_t next();
inline std::uint64_t below(std::uint64_t bound) { return next() % bound; }
inline bool one_in(std::uint64_t bound) { return below(bound) == 0; }

// The last ones that were made, of which any is given.
template <std::size_t capacity>
class Made {
 public:
  void add(std::uint64_t value) { values_[count_++ % capacity] = value; }
  bool is_empty() const { return count_ == 0; }
  std::uint64_t any() const { return values_[below(count_ < capacity ? count_ : capacity)]; }
  void clear() { count_ = 0; }

 private:
  std::uint64_t values_[capacity] = {};
  std::uint64_t count_ = 0;
};

inline Made<48> descriptors;  // of all kinds
inline Made<16> files;
inline Made<24> sockets;
inline Made<8> waiters;
inline Made<16> mappings;
inline Made<16> processes;
inline Made<4> keys;

inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Maps the memory that arguments lie in and the memory that calls work on. False: it cannot be had.
bool map_memory();

// Whoever waits in a call is interrupted by the signal that has this handler.
void wake(int);

std::uint64_t argument_for(const Argument& argument);

}  // namespace sequences
