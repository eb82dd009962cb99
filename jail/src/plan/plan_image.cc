#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "parent/sealed_file.h"
#include "plan/plan.h"

namespace jail {
namespace {

template <class T>
std::string_view bytes_of(const T* objects, std::size_t count) {
  return {reinterpret_cast<const char*>(objects), count * sizeof(T)};
}

// Offsets into Plan::bytes become offsets into the image.
std::vector<wire::Call> placed(const CallList& list, std::uint64_t bytes_offset) {
  std::vector<wire::Call> calls = list.calls;
  for (wire::Call& call : calls) {
    for (std::size_t i = 0; i < 6; ++i) {
      if (call.kind[i] == wire::argument_address) {
        call.argument[i] += static_cast<std::int64_t>(bytes_offset);
      }
    }
  }
  return calls;
}

// The places in Plan::bytes that hold an offset, in ascending order, and what each holds in the
// image.
struct Pointers {
  std::vector<std::uint32_t> places;
  std::vector<std::uint64_t> targets;

  Pointers(const Plan& plan, std::uint64_t bytes_offset) : places(plan.relocations) {
    std::ranges::sort(places);
    targets.reserve(places.size());
    for (const std::uint32_t place : places) {
      std::uint64_t target = 0;
      std::memcpy(&target, plan.bytes.data() + place, sizeof target);
      targets.push_back(target + bytes_offset);
    }
  }

  // `bytes` are the contents of a jail's files for the most part, so they are not copied.
  void add_bytes(std::string_view bytes, std::vector<std::string_view>& parts) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      parts.push_back(bytes.substr(next, places[i] - next));
      parts.push_back(bytes_of(&targets[i], 1));
      next = places[i] + sizeof targets[i];
    }
    parts.push_back(bytes.substr(next));
  }
};

}  // namespace

Result<Fd> to_image(const Plan& plan) {
  wire::PlanHeader header{};
  header.magic = wire::plan_magic;
  header.kind = plan.kind;
  header.init_calls = static_cast<std::uint32_t>(plan.init.calls.size());
  header.guest_calls = static_cast<std::uint32_t>(plan.guest.calls.size());
  header.relocations = static_cast<std::uint32_t>(plan.relocations.size());
  header.workspace_is_on_disk = plan.workspace_is_on_disk ? 1 : 0;
  header.calls_offset = sizeof header;
  header.relocations_offset =
      header.calls_offset + sizeof(wire::Call) * (plan.init.calls.size() + plan.guest.calls.size());
  const std::uint64_t bytes_offset =
      header.relocations_offset + sizeof(std::uint64_t) * plan.relocations.size();
  header.size = bytes_offset + plan.bytes.size();
  header.clone_flags = plan.clone_flags;
  header.page_bytes = plan.page_bytes;
  header.max_mappings = plan.max_mappings;
  header.data_limit_offset = bytes_offset + plan.data_limit;
  header.cpu_limit_offset = bytes_offset + plan.cpu_limit;
  header.processes_limit_offset = bytes_offset + plan.processes_limit;
  header.file_limit_offset = bytes_offset + plan.file_limit;
  header.program_offset = bytes_offset + plan.program;
  header.shown_variables_offset = bytes_offset + plan.shown_variables;
  header.shown_variables_bytes = plan.shown_variables_bytes;
  if (plan.uid_map != Plan::nowhere) header.uid_map_offset = bytes_offset + plan.uid_map;
  if (plan.gid_map != Plan::nowhere) header.gid_map_offset = bytes_offset + plan.gid_map;

  std::vector<std::uint64_t> places;
  places.reserve(plan.relocations.size());
  for (const std::uint32_t place : plan.relocations) places.push_back(bytes_offset + place);

  const std::vector<wire::Call> init = placed(plan.init, bytes_offset);
  const std::vector<wire::Call> guest = placed(plan.guest, bytes_offset);
  const Pointers pointers(plan, bytes_offset);
  std::vector<std::string_view> parts = {bytes_of(&header, 1), bytes_of(init.data(), init.size()),
                                         bytes_of(guest.data(), guest.size()),
                                         bytes_of(places.data(), places.size())};
  pointers.add_bytes(plan.bytes, parts);
  return sealed_file("jail-plan", parts, SealedUse::read);
}

}  // namespace jail
