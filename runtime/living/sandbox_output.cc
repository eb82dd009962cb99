#include "runtime/living/sandbox_output.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>

namespace runtime {
namespace {

// The most pieces that are looked at for one page, including those that the filter leaves out.
constexpr std::size_t max_looked_at = 1024;

// Merges the pieces of several logs into one page, in the order in which they were printed. Bytes
// that a log has dropped are counted as lost.
template <class Sources>
class Merge {
 public:
  Merge(const Sources& sources, const OutputQuery& query, std::uint64_t until)
      : sources_(sources), query_(query), until_(until), bytes_left_(query.max_bytes) {
    page_.from = page_.next = std::min(query.from, until);
    for (std::size_t source = 0; source < sources_.size(); ++source) queue(source);
  }

  OutputPage run() {
    for (std::size_t looked_at = 0; looked_at < max_looked_at && is_open(); ++looked_at) {
      if (queue_.empty()) {
        reach(until_);
        break;
      }
      const auto [place, source] = queue_.top();
      queue_.pop();
      take(place, source);
      queue(source);
    }
    page_.has_more = page_.next < until_;
    return std::move(page_);
  }

 private:
  using Place = std::pair<std::uint64_t, std::size_t>;  // a place, and the index of its source

  bool is_open() const { return page_.entries.size() < query_.max_pieces && bytes_left_ > 0; }

  void queue(std::size_t source) {
    const auto next = sources_[source]->next_placed(page_.next, until_, 0);
    if (next) queue_.emplace(next->place, source);
  }

  void take(std::uint64_t place, std::size_t source) {
    auto piece = sources_[source]->next_placed(page_.next, until_, bytes_left_);
    // The piece seen a moment ago may have been dropped, and what is there now may come after
    // pieces of others.
    if (!piece || piece->place != place) return;
    reach(piece->place);
    const OutputFilter& filter = query_.filter;
    const int pid = sources_[source]->pid();
    const bool is_wanted =
        (!filter.pid || *filter.pid == pid) && (!filter.stream || *filter.stream == piece->stream);
    if (!is_wanted) {
      page_.next = piece->end;
      return;
    }
    page_.next = piece->place + piece->bytes.size();
    bytes_left_ -= piece->bytes.size();
    page_.entries.push_back({pid, std::move(*piece)});
  }

  void reach(std::uint64_t place) {
    page_.lost += place - page_.next;
    page_.next = place;
  }

  const Sources& sources_;
  const OutputQuery& query_;
  const std::uint64_t until_;
  std::size_t bytes_left_;
  OutputPage page_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> queue_;
};

template <class Sources>
std::uint64_t tail(const Sources& sources, const OutputFilter& filter, std::uint64_t until,
                   std::size_t lines) {
  if (lines == 0) return until;
  std::vector<std::uint64_t> places;
  std::uint64_t end = 0;
  for (const auto& source : sources) {
    if (filter.pid && *filter.pid != source->pid()) continue;
    const auto ends = source->line_ends(filter.stream, until, lines + 1);
    places.insert(places.end(), ends.places.begin(), ends.places.end());
    end = std::max(end, ends.end);
    if (places.size() <= lines + 1) continue;
    const auto last = places.begin() + static_cast<std::ptrdiff_t>(lines);
    std::nth_element(places.begin(), last, places.end(), std::greater<>());
    places.resize(lines + 1);
  }
  std::sort(places.begin(), places.end(), std::greater<>());
  // The last line may not have ended yet.
  const bool has_ended = !places.empty() && places.front() + 1 == end;
  const std::size_t before = has_ended ? lines : lines - 1;
  return before < places.size() ? places[before] + 1 : 0;
}

}  // namespace

OutputPage output_of(const OutputSources& sources, const OutputQuery& query, std::uint64_t until) {
  return Merge(sources, query, until).run();
}

OutputPage output_of(const EndedSources& sources, const OutputQuery& query, std::uint64_t until) {
  return Merge(sources, query, until).run();
}

std::uint64_t tail_of(const OutputSources& sources, const OutputFilter& filter, std::uint64_t until,
                      std::size_t lines) {
  return tail(sources, filter, until, lines);
}

std::uint64_t tail_of(const EndedSources& sources, const OutputFilter& filter, std::uint64_t until,
                      std::size_t lines) {
  return tail(sources, filter, until, lines);
}

}  // namespace runtime
