#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "parent/sealed_file.h"
#include "plan/plan.h"

namespace jail {
namespace {

template <class T>
void append(std::string& image, const T* objects, std::size_t count) {
  image.append(reinterpret_cast<const char*>(objects), count * sizeof(T));
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

  std::string image;
  image.reserve(header.size);
  append(image, &header, 1);
  for (const CallList* list : {&plan.init, &plan.guest}) {
    const std::vector<wire::Call> calls = placed(*list, bytes_offset);
    append(image, calls.data(), calls.size());
  }
  append(image, places.data(), places.size());
  image += plan.bytes;
  for (const std::uint64_t place : places) {
    std::uint64_t target = 0;
    std::memcpy(&target, image.data() + place, sizeof target);
    target += bytes_offset;
    std::memcpy(image.data() + place, &target, sizeof target);
  }
  return sealed_file("jail-plan", image, SealedUse::read);
}

}  // namespace jail
