// Random arguments for system calls, by their description in call_descriptions.h and from the
// results of earlier calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "call_descriptions.h"

namespace sequences {

// Objects of the host that calls try to reach.
struct Bait {
  std::uint16_t port = 0;  // port of the loopback interface
  const char* name = "";   // name of an abstract socket
  const char* path = "";   // path of a file
  long pid = 0;
};
inline Bait bait;

// The same seed gives the same numbers.
void begin_chance(std::uint64_t seed);
std::uint64_t next();
inline std::uint64_t below(std::uint64_t bound) { return next() % bound; }
inline bool one_in(std::uint64_t bound) { return below(bound) == 0; }

// The latest objects that were made, of which a random one is returned.
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

// Maps the memory that arguments lie in and the memory that calls operate on. Returns false on
// failure.
bool map_memory();

// The handler of the signal that interrupts blocking calls.
void wake(int);

std::uint64_t argument_for(const Argument& argument);

}  // namespace sequences
