// A pipe as between a jail and its owner: non-blocking.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "jail/fd.h"

namespace runtime {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    reading = jail::Fd(ends[0]);
    writing = jail::Fd(ends[1]);
  }

  // Writes all of it, or fails the test.
  void write(std::string_view bytes) const {
    EXPECT_EQ(::write(writing.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  // Returns its content.
  std::string read() const {
    std::string all;
    std::array<char, 65536> buffer;
    for (;;) {
      const ssize_t got = ::read(reading.get(), buffer.data(), buffer.size());
      if (got <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

  // Returns whether it is empty and nobody can write to it any more.
  bool at_end() const {
    char byte = 0;
    return ::read(reading.get(), &byte, 1) == 0;
  }

  jail::Fd reading;
  jail::Fd writing;
};

}  // namespace runtime
