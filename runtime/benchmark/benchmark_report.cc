#include "runtime/benchmark/benchmark_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/json/writer.h"

namespace runtime::benchmark {
namespace {

constexpr std::uint32_t few = 3;
constexpr std::size_t longest_error = 60;  // bytes in a table
constexpr std::size_t longest_error_of_a_line = 400;

double share(std::size_t some, std::size_t all) {
  return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
}

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

std::string one_decimal(double value) { return fmt::format("{:.1f}", value); }

std::string outcome_of(const TaskScore& score) {
  return score.solved_at == 0 ? "not solved" : "solved at " + std::to_string(score.solved_at);
}

// One line of an error, without control characters: it may hold what a program printed.
std::string short_error(const TaskScore& score, std::size_t max_bytes = longest_error) {
  std::string text = json::repair_utf8(score.error.substr(0, score.error.find('\n')));
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
  // Among the characters beyond ASCII, C2 80 to C2 9F are controls, too.
  for (std::size_t at = 0; (at = text.find('\xC2', at)) != text.npos; ++at) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0) {
      text.replace(at, 2, "  ");
    }
  }
  if (text.size() <= max_bytes) return text;
  return std::string(json::utf8_prefix(text, max_bytes)) + "...";
}

std::string percent(std::size_t some, std::size_t all) {
  return fmt::format("{:.1f} % ({} of {})", 100 * share(some, all), some, all);
}

std::string tokens_each(const BenchmarkReport& report) {
  const llm::Usage usage = report.usage();
  const auto count = static_cast<double>(std::max<std::size_t>(report.tasks.size(), 1));
  return fmt::format("{:.0f} in, {:.0f} out", static_cast<double>(usage.input_tokens) / count,
                     static_cast<double>(usage.output_tokens) / count);
}

// Escapes a cell of Markdown: a bar would end the cell, and < and & have a meaning in HTML.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      if (std::string_view("|\\`*_[]").find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

const char* tasks_text(std::size_t number) { return number == 1 ? "task" : "tasks"; }

std::string cut_short(const BenchmarkReport& report) {
  if (report.tasks.size() == report.asked) return {};
  return fmt::format("Cancelled after {} of {} {}.\n", report.tasks.size(), report.asked,
                     tasks_text(report.asked));
}

}  // namespace

std::string as_line(const TaskScore& score) {
  return fmt::format("{}  {}  {:.1f} s  {} tokens{}", score.id, outcome_of(score),
                     seconds(score.time), score.usage.input_tokens + score.usage.output_tokens,
                     score.error.empty() ? "" : "  " + short_error(score, longest_error_of_a_line));
}

std::string as_table(const BenchmarkReport& report) {
  std::size_t width = 4;
  for (const TaskScore& score : report.tasks) width = std::max(width, score.id.size());
  std::string text = fmt::format("{:<{}}  {:<12}  {:>8}  {:>8}  {:>9}  {:>9}\n", "task", width,
                                 "outcome", "attempts", "seconds", "tokens in", "out");
  for (const TaskScore& score : report.tasks) {
    text += fmt::format("{:<{}}  {:<12}  {:>8}  {:>8.1f}  {:>9}  {:>9}{}\n", score.id, width,
                        outcome_of(score), score.attempts, seconds(score.time),
                        score.usage.input_tokens, score.usage.output_tokens,
                        score.error.empty() ? "" : "  " + short_error(score));
  }
  const std::size_t all = report.tasks.size();
  text += fmt::format("\n{}: {} {} in {:.1f} s\n", report.suite, all, tasks_text(all),
                      seconds(report.time));
  text += "pass@1           " + percent(report.solved_within(1), all) + "\n";
  text += "solved within 3  " + percent(report.solved_within(few), all) + "\n";
  text += "each             " + one_decimal(report.attempts_each()) + " attempts, " +
          one_decimal(report.seconds_each()) + " s, tokens " + tokens_each(report) + "\n";
  return text + cut_short(report);
}

std::string as_json(const BenchmarkReport& report) {
  const std::size_t all = report.tasks.size();
  const llm::Usage usage = report.usage();
  json::Writer writer;
  writer.begin_object();
  writer.key("suite").string(report.suite);
  writer.key("asked").integer(report.asked);
  writer.key("run").integer(static_cast<std::int64_t>(all));
  writer.key("max_attempts").integer(report.max_attempts);
  writer.key("pass_at_1").number(share(report.solved_within(1), all));
  writer.key("solved_within_3").number(share(report.solved_within(few), all));
  writer.key("solved").integer(
      static_cast<std::int64_t>(report.solved_within(report.max_attempts)));
  writer.key("attempts_each").number(report.attempts_each());
  writer.key("seconds_each").number(report.seconds_each());
  writer.key("seconds").number(seconds(report.time));
  writer.key("input_tokens").integer(static_cast<std::int64_t>(usage.input_tokens));
  writer.key("output_tokens").integer(static_cast<std::int64_t>(usage.output_tokens));
  writer.key("tasks").begin_array();
  for (const TaskScore& score : report.tasks) {
    writer.begin_object();
    writer.key("id").string(score.id);
    writer.key("solved").boolean(score.solved_at != 0);
    writer.key("solved_at");
    score.solved_at == 0 ? writer.null() : writer.integer(score.solved_at);
    writer.key("attempts").integer(score.attempts);
    writer.key("seconds").number(seconds(score.time));
    writer.key("input_tokens").integer(static_cast<std::int64_t>(score.usage.input_tokens));
    writer.key("output_tokens").integer(static_cast<std::int64_t>(score.usage.output_tokens));
    writer.key("error");
    score.error.empty() ? writer.null() : writer.string(score.error);
    writer.end_object();
  }
  writer.end_array().end_object();
  return std::move(writer).take();
}

std::string as_markdown(const BenchmarkReport& report) {
  const std::size_t all = report.tasks.size();
  std::string text = fmt::format("# Benchmark {}\n\n", cell(report.suite));
  text += "| what | |\n|---|---|\n";
  text += "| pass@1 | " + percent(report.solved_within(1), all) + " |\n";
  text += "| solved within 3 | " + percent(report.solved_within(few), all) + " |\n";
  text += "| attempts a task | " + one_decimal(report.attempts_each()) + " |\n";
  text += "| time a task | " + one_decimal(report.seconds_each()) + " s |\n";
  text += "| tokens a task | " + tokens_each(report) + " |\n\n";
  text += "| task | outcome | attempts | seconds | tokens in | out | why not |\n";
  text += "|---|---|---:|---:|---:|---:|---|\n";
  for (const TaskScore& score : report.tasks) {
    text +=
        fmt::format("| {} | {} | {} | {:.1f} | {} | {} | {} |\n", cell(score.id), outcome_of(score),
                    score.attempts, seconds(score.time), score.usage.input_tokens,
                    score.usage.output_tokens, cell(short_error(score)));
  }
  const std::string note = cut_short(report);
  return note.empty() ? text : text + "\n" + note;
}

}  // namespace runtime::benchmark
