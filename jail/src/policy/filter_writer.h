// Writes a BPF program from its end to its start, so that whatever a comparison leads to is there
// already, and what leads on in the same way is written once.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace jail {

// What a comparison looks at: 32 bits of struct seccomp_data under a mask.
struct Word {
  std::uint32_t offset = 0;
  std::uint32_t mask = 0xffffffff;

  auto operator<=>(const Word&) const = default;
};

// A point of the program from which on a call is decided.
enum class Step : std::size_t {};

// The values of a word from `first` to the one before the next range lead on to `next`.
struct Range {
  std::uint32_t first = 0;
  Step next{};
};

// The values from `first` to the one before the next part lead on to `other`, but for a few.
struct Part {
  std::uint32_t first = 0;
  std::vector<Range> exceptions;  // ranges of one value
  Step other{};
};

class FilterWriter {
 public:
  // Decides the call.
  Step answer(std::uint32_t action);

  // Leads on by the value of one word. The ranges are sorted, no two begin with the same value, and
  // the first one begins with 0.
  Step choose(const Word& word, const std::vector<Range>& ranges);

  // Writes the loading of the word that `step` needs now, for calls that come with another one:
  // right before the step, where later it would take a jump as well.
  void expect_another_word(Step step) { entry(step, std::nullopt); }

  // Returns the program, which begins with `first`; the writer is used up.
  std::vector<sock_filter> finish(Step first);

 private:
  // An instruction is known by how many follow it.
  using Place = std::size_t;

  // A step is at `place`, where the accumulator must hold the word if there is one. Where
  // `with_loading` is, the word is loaded first.
  struct Written {
    std::optional<Word> word;
    Place place = 0;
    std::optional<Place> with_loading;
  };

  Step compare(const Word& word, std::uint16_t comparison, std::uint32_t value, Step yes, Step no);
  Step choose_between(const Word& word, std::span<const Part> parts);
  Step compare_values(const Word& word, const Part& part);

  Place append(const sock_filter& instruction);
  Place append_jump(Place target);
  Place entry(Step step, const std::optional<Word>& loaded);
  bool is_far(Place target) const;
  Place stepping_stone(Place target);

  std::vector<sock_filter> backwards_;
  std::vector<Written> steps_;
  std::map<std::uint32_t, Step> answers_;
  std::map<std::array<std::size_t, 6>, Step> comparisons_;
  std::map<Place, Place> stepping_stones_;
};

}  // namespace jail
