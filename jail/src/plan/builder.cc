#include "plan/builder.h"

#include <cstring>

namespace jail {
namespace {

// Longer bytes are the contents of files, which hardly come twice.
constexpr std::size_t max_remembered_bytes = 16u << 10;

constexpr std::size_t alignment = 8;

std::size_t aligned(std::size_t size) { return (size + alignment - 1) / alignment * alignment; }

}  // namespace

std::uint32_t Builder::intern(std::string_view bytes) {
  if (const auto known = interned_.find(bytes); known != interned_.end()) return known->second;
  const std::uint32_t offset = reserve(bytes.size() + 1);
  std::memcpy(plan_.bytes.data() + offset, bytes.data(), bytes.size());
  if (bytes.size() <= max_remembered_bytes) interned_.emplace(bytes, offset);
  return offset;
}

std::uint32_t Builder::reserve(std::size_t size) {
  const auto offset = static_cast<std::uint32_t>(plan_.bytes.size());
  plan_.bytes.append(aligned(size), '\0');
  return offset;
}

void Builder::point(std::uint32_t place, std::uint32_t target) {
  const std::uint64_t value = target;
  std::memcpy(plan_.bytes.data() + place, &value, sizeof value);
  plan_.relocations.push_back(place);
}

std::uint32_t Builder::store_pointers(const std::vector<std::string>& texts) {
  std::vector<std::uint32_t> targets;
  targets.reserve(texts.size());
  for (const std::string& text : texts) targets.push_back(intern(text));
  const std::uint32_t array = reserve((texts.size() + 1) * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    point(array + static_cast<std::uint32_t>(i * sizeof(std::uint64_t)), targets[i]);
  }
  return array;
}

wire::Call& Builder::call(SystemCall system_call, std::initializer_list<Argument> arguments,
                          std::string purpose) {
  wire::Call call{};
  call.number = system_call.number;
  call.result_slot = wire::slot_none;
  std::size_t i = 0;
  for (const Argument& argument : arguments) {
    call.kind[i] = argument.kind;
    call.argument[i] = argument.value;
    ++i;
  }
  list_->calls.push_back(call);
  list_->texts.push_back({system_call.name, std::move(purpose)});
  return list_->calls.back();
}

SlotRef Builder::open(SystemCall system_call, std::initializer_list<Argument> arguments,
                      std::string purpose) {
  const std::size_t slot = next_slot_++;
  // A slot past the end is not stored: compile() refuses a plan that has run out of slots.
  const auto number = static_cast<std::uint8_t>(slot < wire::slot_count ? slot : 0);
  call(system_call, arguments, std::move(purpose)).result_slot = number;
  return {number};
}

void Builder::close(SlotRef ref, std::string_view what) {
  call(JAIL_CALL(close), {slot(ref)}, "close " + std::string(what));
}

void Builder::check_acknowledged(std::uint32_t place, std::string purpose) {
  call({wire::check_acknowledged, "check"}, {address(place)}, std::move(purpose));
}

void Builder::store_value(std::uint32_t place, Argument value, std::string purpose) {
  call({wire::store_value, "store"}, {address(place), value}, std::move(purpose));
}

}  // namespace jail
