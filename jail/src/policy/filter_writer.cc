#include "policy/filter_writer.h"

#include <algorithm>
#include <iterator>

namespace jail {
namespace {

// The distance of a conditional jump is one byte.
constexpr std::size_t max_distance = 255;

// So many single values are compared one after the other. Each of them takes one instruction, where
// two ranges more would take two, but whatever is behind it waits for it.
constexpr std::size_t max_single_values = 8;

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
  return choose_between(word, merged(ranges), 0xffffffff);
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

Step FilterWriter::choose_between(const Word& word, std::span<const Range> ranges,
                                  std::uint32_t last) {
  if (const auto peeled = peel(word, ranges, last)) return *peeled;
  const std::size_t half = ranges.size() / 2;
  const std::uint32_t middle = ranges[half].first;
  // What is written later is nearer to the comparison.
  const Step from_middle = choose_between(word, ranges.subspan(half), last);
  const Step below = choose_between(word, ranges.first(half), middle - 1);
  return compare(word, BPF_JGE, middle, from_middle, below);
}

// Writes one comparison for each single value where there are few of them and all other ranges lead
// on in the same way.
std::optional<Step> FilterWriter::peel(const Word& word, std::span<const Range> ranges,
                                       std::uint32_t last) {
  const auto is_single = [&](std::size_t at) {
    return ranges[at].first == (at + 1 < ranges.size() ? ranges[at + 1].first - 1 : last);
  };
  std::optional<Step> other;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (is_single(i)) continue;
    if (other.value_or(ranges[i].next) != ranges[i].next) return std::nullopt;
    other = ranges[i].next;
  }
  if (!other) other = ranges.back().next;
  std::vector<Range> values;
  std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(values),
               [&](const Range& range) { return range.next != other; });
  if (values.size() > max_single_values) return std::nullopt;
  Step step = *other;
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    step = compare(word, BPF_JEQ, value->first, value->next, step);
  }
  return step;
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
