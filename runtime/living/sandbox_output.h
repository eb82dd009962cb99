// What all processes of a sandbox print, put together in the order in which it came. Nothing is
// kept for that: it is read from the logs of the processes.
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

// The process and the stream whose output is meant; where one is not set, all are.
struct OutputFilter {
  std::optional<int> pid = std::nullopt;
  std::optional<Stream> stream = std::nullopt;
};

// Places are those of OutputOrder.
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
  std::uint64_t from = 0;  // where it begins; less than was asked for where that was behind the end
  std::uint64_t next = 0;  // where to go on
  std::uint64_t lost = 0;  // bytes between, of any process and stream, that are not kept any more
  bool has_more = false;   // that was printed by then
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

// Processes whose output it is, either those of a sandbox that lives or what is kept of them.
using OutputSources = std::vector<std::shared_ptr<const LivingProcess>>;
using EndedSources = std::vector<std::shared_ptr<const EndedOutput>>;

// `until` was the end of their OutputOrder before the processes were looked up. At most so many
// pieces are looked at that a page can be empty though there is more.
OutputPage output_of(const OutputSources& sources, const OutputQuery& query, std::uint64_t until);
OutputPage output_of(const EndedSources& sources, const OutputQuery& query, std::uint64_t until);

// Where the latest `lines` lines begin.
std::uint64_t tail_of(const OutputSources& sources, const OutputFilter& filter, std::uint64_t until,
                      std::size_t lines);
std::uint64_t tail_of(const EndedSources& sources, const OutputFilter& filter, std::uint64_t until,
                      std::size_t lines);

}  // namespace runtime
