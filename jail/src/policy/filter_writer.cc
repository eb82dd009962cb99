#include "policy/filter_writer.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace jail {
namespace {

// The distance of a conditional jump is one byte.
constexpr std::size_t max_distance = 255;

// So many single values are compared one after the other. Each of them takes one instruction, where
// two ranges more would take two, but whatever is behind it waits for it.
constexpr std::size_t max_single_values = 6;

// Returns nothing where the ranges from `begin` to before `end` are not such a part.
std::optional<Part> part_of(const std::vector<Range>& ranges, std::size_t begin, std::size_t end) {
  std::optional<Step> other;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t last = i + 1 < ranges.size() ? ranges[i + 1].first - 1 : 0xffffffff;
    if (ranges[i].first == last) continue;
    if (other.value_or(ranges[i].next) != ranges[i].next) return std::nullopt;
    other = ranges[i].next;
  }
  Part part{.first = ranges[begin].first,
            .exceptions = {},
            .other = other.value_or(ranges[end - 1].next)};
  for (std::size_t i = begin; i < end; ++i) {
    if (ranges[i].next != part.other) part.exceptions.push_back(ranges[i]);
  }
  if (part.exceptions.size() > max_single_values) return std::nullopt;
  return part;
}

// Divides the ranges into parts so that they are told from each other by as few comparisons as can
// be: one for each single value, and one for each part but the first.
std::vector<Part> divided(const std::vector<Range>& ranges) {
  struct Best {
    std::size_t comparisons = 0;  // for this and all ranges behind it
    std::size_t end = 0;          // of the part that begins with this range
  };
  std::vector<Best> best(ranges.size() + 1);
  for (std::size_t begin = ranges.size(); begin-- > 0;) {
    for (std::size_t end = begin + 1; end <= ranges.size(); ++end) {
      const auto part = part_of(ranges, begin, end);
      if (!part) break;
      const std::size_t comparisons = part->exceptions.size() + 1 + best[end].comparisons;
      if (best[begin].end != 0 && comparisons > best[begin].comparisons) continue;
      best[begin] = {.comparisons = comparisons, .end = end};
    }
  }
  std::vector<Part> parts;
  for (std::size_t at = 0; at < ranges.size(); at = best[at].end) {
    parts.push_back(*part_of(ranges, at, best[at].end));
  }
  return parts;
}

// Neighbours that lead on in the same way are one range.
std::vector<Range> merged(const std::vector<Range>& ranges) {
  std::vector<Range> result;
  for (const Range& range : ranges) {
    if (result.empty() || result.back().next != range.next) result.push_back(range);
  }
  return result;
}

}  // namespace

Step FilterWriter::answer(std::uint32_t action) {
  const auto [known, is_new] = answers_.try_emplace(action, Step{steps_.size()});
  if (is_new) {
    const Place place = append(BPF_STMT(BPF_RET | BPF_K, action));
    steps_.push_back({.word = std::nullopt, .place = place, .with_loading = std::nullopt});
  }
  return known->second;
}

Step FilterWriter::choose(const Word& word, const std::vector<Range>& ranges) {
  return choose_between(word, divided(merged(ranges)));
}

std::vector<sock_filter> FilterWriter::finish(Step first) {
  const Place start = entry(first, std::nullopt);
  if (start + 1 != backwards_.size()) append_jump(start);
  return {backwards_.rbegin(), backwards_.rend()};
}

Step FilterWriter::compare(const Word& word, std::uint16_t comparison, std::uint32_t value,
                           Step yes, Step no) {
  if (yes == no) return yes;
  const std::array<std::size_t, 6> key = {word.offset,
                                          word.mask,
                                          comparison,
                                          value,
                                          static_cast<std::size_t>(yes),
                                          static_cast<std::size_t>(no)};
  if (const auto known = comparisons_.find(key); known != comparisons_.end()) return known->second;
  Place yes_place = entry(yes, word);
  Place no_place = entry(no, word);
  // Each stone moves this comparison one further away from where the other way leads.
  while (is_far(yes_place) || is_far(no_place)) {
    Place& far = is_far(yes_place) ? yes_place : no_place;
    far = stepping_stone(far);
  }
  const Place here = backwards_.size();
  append(BPF_JUMP(static_cast<__u16>(BPF_JMP | comparison | BPF_K), value,
                  static_cast<__u8>(here - yes_place - 1), static_cast<__u8>(here - no_place - 1)));
  const Step step{steps_.size()};
  steps_.push_back({.word = word, .place = here, .with_loading = std::nullopt});
  comparisons_.emplace(key, step);
  return step;
}

Step FilterWriter::choose_between(const Word& word, std::span<const Part> parts) {
  if (parts.size() == 1) return compare_values(word, parts.front());
  const std::size_t half = parts.size() / 2;
  // What is written later is nearer to the comparison.
  const Step from_half = choose_between(word, parts.subspan(half));
  const Step below = choose_between(word, parts.first(half));
  return compare(word, BPF_JGE, parts[half].first, from_half, below);
}

Step FilterWriter::compare_values(const Word& word, const Part& part) {
  return std::accumulate(part.exceptions.rbegin(), part.exceptions.rend(), part.other,
                         [&](Step step, const Range& value) {
                           return compare(word, BPF_JEQ, value.first, value.next, step);
                         });
}

FilterWriter::Place FilterWriter::append(const sock_filter& instruction) {
  backwards_.push_back(instruction);
  return backwards_.size() - 1;
}

FilterWriter::Place FilterWriter::append_jump(Place target) {
  return append(
      BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(backwards_.size() - target - 1)));
}

// Returns where to go on with `step` while the accumulator holds `loaded`.
FilterWriter::Place FilterWriter::entry(Step step, const std::optional<Word>& loaded) {
  const Written known = steps_[static_cast<std::size_t>(step)];
  if (!known.word || known.word == loaded) return known.place;
  if (known.with_loading) return *known.with_loading;
  if (known.place + 1 != backwards_.size()) append_jump(known.place);
  if (known.word->mask != 0xffffffff) append(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, known.word->mask));
  const Place place = append(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, known.word->offset));
  steps_[static_cast<std::size_t>(step)].with_loading = place;
  return place;
}

bool FilterWriter::is_far(Place target) const {
  return backwards_.size() - target - 1 > max_distance;
}

// Returns a near place from which the call goes on as from `target`.
FilterWriter::Place FilterWriter::stepping_stone(Place target) {
  const auto known = stepping_stones_.find(target);
  if (known != stepping_stones_.end() && !is_far(known->second)) return known->second;
  const sock_filter there = backwards_[target];
  const Place place = there.code == (BPF_RET | BPF_K) ? append(there) : append_jump(target);
  stepping_stones_[target] = place;
  return place;
}

}  // namespace jail
