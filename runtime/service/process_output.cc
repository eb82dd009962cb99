#include "runtime/service/process_output.h"

#include <utility>

namespace runtime {
namespace {

constexpr std::size_t read_bytes = 64u << 10;

void keep(ProcessOutput::Kept& kept, const std::string& more, std::size_t max_bytes) {
  const std::size_t room = max_bytes - kept.bytes.size();
  kept.bytes.append(more, 0, room);
  kept.is_truncated = kept.is_truncated || more.size() > room;
}

}  // namespace

boost::asio::awaitable<ProcessOutput> output_to_the_end(std::shared_ptr<LivingProcess> process,
                                                        Cancel cancel, std::size_t max_bytes) {
  Leash leash(process);
  LivingProcess::Pace pace(process);
  ProcessOutput collected;
  for (std::uint64_t place = 0; !collected.has_ended;) {
    const auto output = co_await process->next_output(place, read_bytes, Bell::Time::max(), cancel);
    if (output.part.lost > 0) collected.out.is_truncated = collected.err.is_truncated = true;
    for (const auto& piece : output.part.pieces) {
      auto& kept = piece.stream == Stream::standard_output ? collected.out : collected.err;
      keep(kept, piece.bytes, max_bytes);
    }
    place = output.part.next;
    pace.set(place);
    collected.has_ended = output.is_over;
    if (!collected.has_ended && cancel.requested()) co_return collected;
  }
  leash.let_go();
  co_return collected;
}

}  // namespace runtime
