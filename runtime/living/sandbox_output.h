// The output of all processes of a sandbox, merged in the order in which it came. It is not stored
// for that: it is read from the logs of the processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/living/living_process.h"
#include "runtime/living/output_log.h"
#include "runtime/sandbox/stream.h"

namespace runtime {

// Selects a process and a stream; a field that is not set selects all.
struct OutputFilter {
  std::optional<int> pid = std::nullopt;
  std::optional<Stream> stream = std::nullopt;
};

// The places are those of OutputOrder.
struct OutputQuery {
  std::uint64_t from = 0;
  OutputFilter filter = {};
  std::size_t max_pieces = 1000;
  std::size_t max_bytes = 256u << 10;
};

struct OutputPage {
  struct Entry {
    int pid = 0;
    OutputLog::Placed piece;
  };
  std::uint64_t from = 0;  // where the page begins; before the requested place where that was
                           // beyond the end
  std::uint64_t next = 0;  // where the next page begins
  std::uint64_t lost = 0;  // bytes in between, of any process and stream, that are no longer kept
  bool has_more = false;   // more was printed by then
  std::vector<Entry> entries = {};
};

// The latest output of a process whose sandbox has ended.
class EndedOutput {
 public:
  EndedOutput(int pid, OutputLog log) : pid_(pid), log_(std::move(log)) {}

  int pid() const noexcept { return pid_; }
  std::optional<OutputLog::Placed> next_placed(std::uint64_t place, std::uint64_t until,
                                               std::size_t max_bytes) const {
    return log_.next_placed(place, until, max_bytes);
  }
  OutputLog::LineEnds line_ends(std::optional<Stream> stream, std::uint64_t until,
                                std::size_t most) const {
    return log_.line_ends(stream, until, most);
  }

 private:
  int pid_;
  OutputLog log_;
};

// The processes whose output is read: those of a living sandbox, or what is kept of them.
using OutputSources = std::vector<std::shared_ptr<const LivingProcess>>;
using EndedSources = std::vector<std::shared_ptr<const EndedOutput>>;

// `until` must be the end of their OutputOrder from before the processes were looked up. The number
// of pieces that are looked at is bounded, so a page can be empty though there is more output.
OutputPage output_of(const OutputSources& sources, const OutputQuery& query, std::uint64_t until);
OutputPage output_of(const EndedSources& sources, const OutputQuery& query, std::uint64_t until);

// The place where the latest `lines` lines begin.
std::uint64_t tail_of(const OutputSources& sources, const OutputFilter& filter, std::uint64_t until,
                      std::size_t lines);
std::uint64_t tail_of(const EndedSources& sources, const OutputFilter& filter, std::uint64_t until,
                      std::size_t lines);

}  // namespace runtime
