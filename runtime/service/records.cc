#include "runtime/service/records.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/service/record_fields.h"

// A record consists of a byte for its format, a byte for its type, and its value. Numbers, booleans
// and enumerators are eight bytes, the lowest first. A text is its length and its bytes, a list the
// number of its elements and these, an optional value a list of none or one. A value with fields is
// the length of what follows in bytes and its fields one after the other.
namespace runtime {
namespace record {
namespace {

constexpr char format = 1;

enum class Type : char { program = 'p', task = 't', attempt = 'a', sandbox = 's' };

template <class Value>
concept HasFields = requires(Value& value) {
  fields(value);
};
template <class Value>
concept IsNumber = std::is_arithmetic_v<Value> || std::is_enum_v<Value>;
template <class Value>
concept IsDuration = requires(Value value) {
  Value(value.count());
};

class Encoder {
 public:
  explicit Encoder(Type type) : bytes_{format, static_cast<char>(type)} {}

  std::string take() && { return std::move(bytes_); }

  template <IsNumber Value>
  void put(const Value& value) {
    if constexpr (std::is_floating_point_v<Value>) {
      put_word(std::bit_cast<std::uint64_t>(double{value}));
    } else {
      put_word(static_cast<std::uint64_t>(value));
    }
  }
  template <IsDuration Value>
  void put(const Value& value) {
    put(value.count());
  }
  void put(const std::string& value) {
    put_word(value.size());
    bytes_ += value;
  }
  template <class Value>
  void put(const std::optional<Value>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class Value>
  void put(const std::vector<Value>& values) {
    put_word(values.size());
    for (const Value& value : values) put(value);
  }
  template <class Value>
  void put(const std::map<std::string, Value>& values) {
    put_word(values.size());
    for (const auto& [name, value] : values) {
      put(name);
      put(value);
    }
  }
  template <HasFields Value>
  void put(const Value& value) {
    const std::size_t length_at = bytes_.size();
    put_word(0);
    std::apply([this](const auto&... field) { (this->put(field), ...); }, fields(value));
    write_word(bytes_.size() - length_at - word_bytes, bytes_.data() + length_at);
  }

  static constexpr std::size_t word_bytes = 8;

 private:
  void put_word(std::uint64_t word) {
    char bytes[word_bytes];
    write_word(word, bytes);
    bytes_.append(bytes, word_bytes);
  }
  static void write_word(std::uint64_t word, char* to) {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    std::memcpy(to, &word, word_bytes);
  }

  std::string bytes_;
};

// Each take() returns false where the bytes are not what an Encoder has written.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : left_(bytes) {}

  bool is_at_end() const { return left_.empty(); }

  template <IsNumber Value>
  bool take(Value& value) {
    std::uint64_t word = 0;
    if (!take_word(word)) return false;
    if constexpr (std::is_floating_point_v<Value>) {
      value = std::bit_cast<double>(word);
    } else if constexpr (std::is_enum_v<Value>) {
      if (word > static_cast<std::uint64_t>(most<Value>)) return false;
      value = static_cast<Value>(word);
    } else {
      value = static_cast<Value>(word);
      if (static_cast<std::uint64_t>(value) != word) return false;
    }
    return true;
  }
  template <IsDuration Value>
  bool take(Value& value) {
    typename Value::rep count = 0;
    if (!take(count)) return false;
    value = Value(count);
    return true;
  }
  bool take(std::string& value) {
    std::string_view bytes;
    if (!take_bytes(bytes)) return false;
    value = bytes;
    return true;
  }
  template <class Value>
  bool take(std::optional<Value>& value) {
    bool is_there = false;
    return take(is_there) && (!is_there || take(value.emplace()));
  }
  template <class Value>
  bool take(std::vector<Value>& values) {
    std::uint64_t count = 0;
    if (!take_word(count)) return false;
    for (; count > 0; --count) {
      if (!take(values.emplace_back())) return false;
    }
    return true;
  }
  template <class Value>
  bool take(std::map<std::string, Value>& values) {
    std::uint64_t count = 0;
    if (!take_word(count)) return false;
    for (; count > 0; --count) {
      std::string name;
      if (!take(name) || !take(values[name])) return false;
    }
    return true;
  }
  // A record of an earlier version ends before the fields that that version did not know.
  template <HasFields Value>
  bool take(Value& value) {
    std::string_view bytes;
    if (!take_bytes(bytes)) return false;
    Decoder own(bytes);
    const bool is_whole =
        std::apply([&own](auto&... field) { return ((own.is_at_end() || own.take(field)) && ...); },
                   fields(value)) &&
        own.is_at_end();
    if constexpr (std::is_same_v<Value, Outcome>) value.code = code_of_today(value.code);
    return is_whole;
  }

 private:
  bool take_word(std::uint64_t& word) {
    if (left_.size() < Encoder::word_bytes) return false;
    std::memcpy(&word, left_.data(), Encoder::word_bytes);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    left_.remove_prefix(Encoder::word_bytes);
    return true;
  }
  bool take_bytes(std::string_view& bytes) {
    std::uint64_t length = 0;
    if (!take_word(length) || length > left_.size()) return false;
    bytes = left_.substr(0, length);
    left_.remove_prefix(length);
    return true;
  }

  std::string_view left_;
};

template <class Value>
std::string encode(Type type, const Value& value) {
  Encoder encoder(type);
  encoder.put(value);
  return std::move(encoder).take();
}

template <class Value>
jail::Result<Value> decode(Type type, std::string_view bytes) {
  const auto error = [](jail::ErrorKind kind, const char* what) {
    return jail::Error{kind, what, 0, {}};
  };
  if (bytes.size() < 2 || bytes[0] < format || bytes[1] != static_cast<char>(type)) {
    return error(jail::ErrorKind::invalid, "what is stored is damaged");
  }
  if (bytes[0] > format) {
    return error(jail::ErrorKind::unsupported, "what is stored is of a later version");
  }
  Decoder decoder(bytes.substr(2));
  Value value;
  if (!decoder.take(value) || !decoder.is_at_end()) {
    return error(jail::ErrorKind::invalid, "what is stored is damaged");
  }
  return value;
}

}  // namespace
}  // namespace record

std::string encode_record(const ProgramRecord& record) {
  return record::encode(record::Type::program, record);
}

std::string encode_record(const agent::TaskResult& result) {
  return record::encode(record::Type::task, result);
}

std::string encode_record(const agent::Attempt& attempt) {
  return record::encode(record::Type::attempt, attempt);
}

std::string encode_record(const SandboxRecord& record) {
  return record::encode(record::Type::sandbox, record);
}

jail::Result<ProgramRecord> decode_program(std::string_view bytes) {
  return record::decode<ProgramRecord>(record::Type::program, bytes);
}

jail::Result<agent::TaskResult> decode_task(std::string_view bytes) {
  return record::decode<agent::TaskResult>(record::Type::task, bytes);
}

jail::Result<agent::Attempt> decode_attempt(std::string_view bytes) {
  return record::decode<agent::Attempt>(record::Type::attempt, bytes);
}

jail::Result<SandboxRecord> decode_sandbox(std::string_view bytes) {
  return record::decode<SandboxRecord>(record::Type::sandbox, bytes);
}

}  // namespace runtime
