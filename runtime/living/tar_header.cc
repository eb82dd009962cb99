#include "runtime/living/tar_header.h"

#include <string.h>

#include <algorithm>
#include <cstdio>
#include <limits>

namespace runtime::tar {
namespace {

using jail::invalid;
using jail::Result;

struct Place {
  std::size_t begin;
  std::size_t size;
};
constexpr Place name_place{0, 100};
constexpr Place mode_place{100, 8};
constexpr Place owner_place{108, 8};
constexpr Place group_place{116, 8};
constexpr Place size_place{124, 12};
constexpr Place time_place{136, 12};
constexpr Place sum_place{148, 8};
constexpr std::size_t type_place = 156;
constexpr Place link_place{157, 100};
constexpr Place magic_place{257, 8};
constexpr Place prefix_place{345, 155};
constexpr std::string_view posix_magic("ustar\00000", 8);
constexpr std::string_view gnu_magic("ustar  \0", 8);
constexpr std::string_view long_link_name = "././@LongLink";
constexpr unsigned guest_id = 1000;

std::string_view field(const Block& block, Place place) {
  return {block.data() + place.begin, place.size};
}

// The text of a field, up to the first NUL.
std::string text(const Block& block, Place place) {
  const std::string_view bytes = field(block, place);
  return std::string(bytes.substr(0, bytes.find('\0')));
}

// Parses octal digits with blanks and NULs around them, or GNU's binary numbers.
std::optional<std::int64_t> number(const Block& block, Place place) {
  std::string_view digits = field(block, place);
  const auto first = static_cast<unsigned char>(digits.front());
  if ((first & 0x80u) != 0) {
    if (first != 0x80) return std::nullopt;  // negative, or too large
    std::uint64_t value = 0;
    for (const char byte : digits.substr(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(byte);
    }
    return static_cast<std::int64_t>(value);
  }
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  std::int64_t value = 0;
  for (const char digit : digits.substr(0, digits.find_first_of(std::string_view(" \0", 2)))) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value * 8 + (digit - '0');
  }
  return value;
}

// The checksum is the sum of all bytes of the block, with its own field counted as blanks.
std::int64_t sum_of(const Block& block) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= sum_place.begin && i < sum_place.begin + sum_place.size;
    sum += is_sum ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

void put(Block& block, Place place, std::string_view bytes) {
  std::copy_n(bytes.begin(), std::min(bytes.size(), place.size), block.begin() + place.begin);
}

// Writes octal digits and a NUL, or binary where these do not fit.
void put_number(Block& block, Place place, std::uint64_t value) {
  const std::size_t digits = place.size - 1;
  if (value >> (3 * digits) == 0) {
    std::array<char, 16> octal{};
    std::snprintf(octal.data(), octal.size(), "%0*llo", static_cast<int>(digits),
                  static_cast<unsigned long long>(value));
    put(block, place, octal.data());
    return;
  }
  for (std::size_t i = place.size; i-- > 1; value >>= 8) {
    block[place.begin + i] = static_cast<char>(value & 0xffu);
  }
  block[place.begin] = static_cast<char>(0x80);
}

void append_block(std::string& out, const Header& header) {
  Block block{};
  put(block, name_place, header.name);
  put_number(block, mode_place, header.mode);
  put_number(block, owner_place, guest_id);
  put_number(block, group_place, guest_id);
  put_number(block, size_place, header.size);
  put_number(block, time_place,
             static_cast<std::uint64_t>(std::max<std::int64_t>(0, header.modified)));
  block[type_place] = header.type;
  put(block, link_place, header.link);
  put(block, magic_place, gnu_magic);
  std::array<char, 8> sum{};
  std::snprintf(sum.data(), sum.size(), "%06o", static_cast<unsigned>(sum_of(block)));
  put(block, sum_place, {sum.data(), 7});
  block[sum_place.begin + 7] = ' ';
  out.append(block.data(), block.size());
}

void append_long(std::string& out, char type, const std::string& value) {
  append_block(out, {.name = std::string(long_link_name), .type = type, .size = value.size() + 1});
  out += value;
  out.append(1 + padding_of(value.size() + 1), '\0');
}

}  // namespace

Result<std::optional<Header>> read_header(const Block& block) {
  const auto is_zero = [](char byte) { return byte == 0; };
  if (std::all_of(block.begin(), block.end(), is_zero)) return std::optional<Header>();
  if (number(block, sum_place) != sum_of(block)) {
    return invalid("body: expected a tar archive, not compressed; a header has no right checksum");
  }
  const auto size = number(block, size_place);
  const auto mode = number(block, mode_place);
  const auto modified = number(block, time_place);
  Header header;
  header.name = text(block, name_place);
  if (field(block, magic_place) == posix_magic) {
    const std::string prefix = text(block, prefix_place);
    if (!prefix.empty()) header.name = prefix + "/" + header.name;
  }
  if (!size || !mode) {
    return invalid("body: " + header.name.substr(0, 200) + ": a number in its header is none");
  }
  const char type = block[type_place];
  header.type = type == '\0' || type == '7' ? '0' : type;
  // An old archive marks a directory only by a slash at the end of its name.
  if (header.type == '0' && header.name.ends_with('/')) header.type = '5';
  header.size = static_cast<std::uint64_t>(*size);
  header.mode = static_cast<std::uint32_t>(*mode & 0777);
  header.modified = modified.value_or(0);
  header.link = text(block, link_place);
  return std::optional<Header>(std::move(header));
}

void append_header(std::string& out, const Header& header) {
  if (header.link.size() > link_place.size) append_long(out, 'K', header.link);
  if (header.name.size() > name_place.size) append_long(out, 'L', header.name);
  append_block(out, header);
}

}  // namespace runtime::tar
