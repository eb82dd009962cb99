// tests/system_calls.txt: the expected answers, which were written down independently of the
// policy.
#pragma once

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "filter_probe.h"

namespace jail::test {

struct TableRow {
  std::uint32_t first;
  std::uint32_t last;
  std::string name;  // "-" where no call has this number
  bool whatever_arguments;
  Arguments arguments;  // unused with whatever_arguments
  std::uint32_t action;
  std::string line;
};

class SystemCallTable {
 public:
  static std::vector<TableRow> read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<TableRow> rows;
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line[0] != '#') rows.push_back(row_of(line));
    }
    return rows;
  }

 private:
  static TableRow row_of(const std::string& line) {
    std::istringstream words(line);
    std::string number, arguments, answer;
    TableRow row{};
    if (!(words >> number >> arguments >> answer >> row.name)) throw std::runtime_error(line);
    const std::size_t dash = number.find('-', 1);
    row.first = static_cast<std::uint32_t>(number_of(number.substr(0, dash)));
    row.last = dash == number.npos ? row.first
                                   : static_cast<std::uint32_t>(number_of(number.substr(dash + 1)));
    row.whatever_arguments = arguments == "*";
    if (!row.whatever_arguments) row.arguments = arguments_of(arguments);
    row.action = action_of(answer);
    row.line = line;
    return row;
  }

  static std::uint64_t number_of(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const bool hexadecimal = text.starts_with("0x");
    if (hexadecimal) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (error != std::errc{} || end != text.data() + text.size()) {
      throw std::runtime_error("not a number: " + std::string(text));
    }
    return negative ? ~value + 1 : value;
  }

  static Arguments arguments_of(const std::string& text) {
    Arguments arguments{};
    if (text == "-1") {
      arguments.fill(~std::uint64_t{0});
      return arguments;
    }
    std::istringstream parts(text);
    std::size_t i = 0;
    for (std::string part; std::getline(parts, part, ',');) arguments.at(i++) = number_of(part);
    return arguments;
  }

  static std::uint32_t action_of(const std::string& answer) {
    static const std::map<std::string, std::uint32_t> actions = {
        {"kernel", allowed},
        {"killed", killed},
        {"EAFNOSUPPORT", fails_with(EAFNOSUPPORT)},
        {"EINVAL", fails_with(EINVAL)},
        {"ENOPROTOOPT", fails_with(ENOPROTOOPT)},
        {"ENOSYS", fails_with(ENOSYS)},
        {"ENOMEM", fails_with(ENOMEM)},
        {"ENOTTY", fails_with(ENOTTY)},
        {"EOPNOTSUPP", fails_with(EOPNOTSUPP)},
        {"EPERM", fails_with(EPERM)}};
    const auto found = actions.find(answer);
    if (found == actions.end()) throw std::runtime_error("unknown answer " + answer);
    return found->second;
  }
};

}  // namespace jail::test
