// One header of a tar archive: 512 bytes before the content of an entry. POSIX.1-2017, pax, "ustar
// Interchange Format", with the extensions of GNU tar.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jail/result.h"

namespace runtime::tar {

inline constexpr std::size_t block_bytes = 512;
using Block = std::array<char, block_bytes>;

// The number of bytes that follow content of `size` bytes, up to the next block.
constexpr std::uint64_t padding_of(std::uint64_t size) {
  return (block_bytes - size % block_bytes) % block_bytes;
}

struct Header {
  std::string name;
  char type = '0';            // the byte of the header; '0' a file, '2' a link, '5' a directory,
                              // ...
  std::uint32_t mode = 0;     // permission bits
  std::uint64_t size = 0;     // bytes of content
  std::int64_t modified = 0;  // seconds since 1970
  std::string link = {};      // target of a symbolic link, or the entry that a hard link refers to
};

// Returns std::nullopt where the block is all zeros, as at the end. Errors: invalid, which says
// what is wrong.
jail::Result<std::optional<Header>> read_header(const Block& block);

// Puts blocks before the header where the names are too long for it, as GNU tar does.
void append_header(std::string& out, const Header& header);

}  // namespace runtime::tar
