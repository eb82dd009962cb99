#include "runtime/agent/trace_html.h"

#include <cmath>
#include <cstdio>

#include "runtime/agent/line_diff.h"
#include "runtime/agent/program_text.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"

namespace runtime::agent {
namespace {

constexpr std::size_t longest_line_text = 2000;     // of one event
constexpr std::size_t longest_block_text = 32'768;  // of one stream or program
constexpr std::size_t max_rows = 2000;

// The policy forbids again that anything is loaded or run, in case escaping misses something.
constexpr std::string_view page_head = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>Trace of a task</title>
<style>
:root { color-scheme: light dark; --text: #1c1e21; --soft: #667; --back: #fbfbf9; --card: #fff;
  --line: #dcdcd6; --code: #f4f4f0; --good: #17692d; --bad: #a6192e; --plus: #dff3df; --minus: #fbe0e0;
  --bar: #4a6fa5; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e4e0; --soft: #9a9aa2; --back: #17181b; --card: #1f2125; --line: #35373d;
    --code: #26282d; --good: #6fcf86; --bad: #ff8a8a; --plus: #1d3a25; --minus: #442426; --bar: #7fa3d9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 68rem; color: var(--text);
  background: var(--back); font: 15px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: 0 0 .5rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: .95rem; margin: 1rem 0 .3rem; }
section.attempt { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .2rem 1rem 1rem; margin: 1rem 0; }
section.attempt h2 { margin: .6rem 0 0; } p { margin: .3rem 0; }
pre { margin: 0; padding: .6rem .8rem; background: var(--code); border-radius: 6px; overflow: auto;
  max-height: 36rem; font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
pre span { display: block; min-height: 1.45em; }
.added { background: var(--plus); } .added::before { content: "+ "; color: var(--good); }
.dropped { background: var(--minus); } .dropped::before { content: "- "; color: var(--bad); }
.kept::before { content: "  "; }
.good { color: var(--good); } .bad { color: var(--bad); } .soft { color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
td { border-top: 1px solid var(--line); padding: .25rem .5rem .25rem 0; vertical-align: top; }
td.time { width: 5.5rem; text-align: right; color: var(--soft); font-variant-numeric: tabular-nums; }
td.kind { width: 10rem; } td.bar { width: 9rem; padding-top: .65rem; }
td.said { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; }
td.said div { max-height: 9rem; overflow: auto; }
.track { position: relative; height: .55rem; background: var(--code); border-radius: 3px; }
.track i { position: absolute; top: 0; height: 100%; min-width: 2px; background: var(--bar);
  border-radius: 3px; }
</style>
</head>
<body>
)html";

// Makes characters visible that a terminal or a browser would obey or not show, and those that
// change the direction of text, which can make a program look like another.
void append_visible(std::string& html, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::string_view three = text.substr(i, 3);
    const bool turns = three >= "\u202A" && three <= "\u202E";
    const bool isolates = three >= "\u2066" && three <= "\u2069";
    if (three.size() == 3 && (turns || isolates || three == "\u200E" || three == "\u200F")) {
      html += "\uFFFD";
      i += 2;
    } else if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 127) {
      html += "\uFFFD";
    } else if (byte == '&') {
      html += "&amp;";
    } else if (byte == '<') {
      html += "&lt;";
    } else if (byte == '>') {
      html += "&gt;";
    } else if (byte == '"') {
      html += "&quot;";
    } else if (byte == '\'') {
      html += "&#39;";
    } else {
      html += text[i];
    }
  }
}

std::string escaped(std::string_view bytes, std::size_t longest = longest_block_text) {
  std::string html;
  append_visible(html, head_and_tail(json::repair_utf8(bytes), longest));
  return html;
}

std::string seconds_text(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", static_cast<double>(time.count()) / 1000);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%",
                std::isfinite(share) ? std::fmin(std::fmax(share, 0), 1) * 100 : 0);
  return text;
}

std::string share_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", std::isfinite(share) ? share : 0);
  return text;
}

void definition(std::string& html, std::string_view term, const std::string& what) {
  html += "<dt>" + std::string(term) + "</dt><dd>" + what + "</dd>\n";
}

void block(std::string& html, std::string_view title, std::string_view text) {
  if (text.empty()) return;
  html += "<h3>" + std::string(title) + "</h3>\n<pre>" + escaped(text) + "</pre>\n";
}

// --- the timeline

struct Row {
  EventType type = EventType::token;
  std::chrono::milliseconds from{0};
  std::chrono::milliseconds to{0};
  std::string text;
};

bool comes_in_pieces(EventType type) {
  return type == EventType::token || type == EventType::standard_output ||
         type == EventType::standard_error;
}

std::string scalar_text(const json::Value& value) {
  if (const auto* text = value.as_string()) return *text;
  if (const auto* number = value.as_integer()) return std::to_string(*number);
  if (const auto* flag = value.as_bool()) return *flag ? "true" : "false";
  if (value.is_null()) return "null";
  json::Writer writer;
  if (const auto* number = value.as_double()) {
    writer.number(*number);
    return std::move(writer).take();
  }
  return "...";
}

// A string as it is, an object as "name: value" lines; text that is not JSON stays as it came.
std::string words_of(const Event& event) {
  const auto value = json::parse(event.data, "event");
  if (!value) return event.data;
  const json::Object* object = value->as_object();
  if (object == nullptr) return value->as_array() != nullptr ? event.data : scalar_text(*value);
  std::string text;
  for (const auto& [name, member] : *object) {
    // The program is shown together with its attempt.
    if (event.type == EventType::code && name == "code") continue;
    text += (text.empty() ? "" : "\n") + name + ": " + scalar_text(member);
  }
  return text;
}

std::vector<Row> rows_of(const std::vector<TracedEvent>& events) {
  std::vector<Row> rows;
  for (const TracedEvent& traced : events) {
    const EventType type = traced.event.type;
    std::string text = words_of(traced.event);
    if (!rows.empty() && rows.back().type == type && comes_in_pieces(type)) {
      rows.back().to = traced.at;
      if (rows.back().text.size() < longest_block_text) rows.back().text += text;
      continue;
    }
    // A step that takes time is announced before it begins, so it lasts until the next event.
    if (!rows.empty() && !comes_in_pieces(rows.back().type)) rows.back().to = traced.at;
    if (rows.size() == max_rows) break;
    rows.push_back({type, traced.at, traced.at, std::move(text)});
  }
  return rows;
}

void timeline(std::string& html, const std::vector<TracedEvent>& events) {
  if (events.empty()) return;
  html += "<h2>Timeline</h2>\n<table>\n";
  const auto rows = rows_of(events);
  const double whole = std::fmax(1, static_cast<double>(events.back().at.count()));
  for (const Row& row : rows) {
    const double from = static_cast<double>(row.from.count()) / whole;
    const double width = static_cast<double>((row.to - row.from).count()) / whole;
    html += "<tr><td class=\"time\">" + seconds_text(row.from) + "</td><td class=\"kind\">" +
            std::string(name_of(row.type)) +
            "</td><td class=\"bar\"><div class=\"track\"><i style=\"left:" + percent(from) +
            ";width:" + percent(width) + "\"></i></div></td><td class=\"said\"><div>" +
            escaped(row.text, longest_line_text) + "</div></td></tr>\n";
  }
  html += "</table>\n";
  if (rows.size() == max_rows) html += "<p class=\"soft\">Later events are left out.</p>\n";
}

// --- the attempts

void program(std::string& html, const Attempt& attempt, const std::string* before) {
  if (attempt.code.empty()) return;
  if (before == nullptr) {
    block(html, "Program", attempt.code);
    return;
  }
  html += "<h3>Program, with what changed</h3>\n<pre>";
  std::size_t bytes = 0;
  for (const DiffLine& line : line_diff(*before, attempt.code)) {
    bytes += line.text.size() + 1;
    if (bytes > 2 * longest_block_text) {
      html += "<span class=\"soft\">... the rest is left out</span>";
      break;
    }
    const char* is = line.is == LineIs::kept    ? "kept"
                     : line.is == LineIs::added ? "added"
                                                : "dropped";
    html += "<span class=\"" + std::string(is) + "\">" + escaped(line.text) + "</span>";
  }
  html += "</pre>\n";
}

void outcome(std::string& html, const RunResult& result) {
  const bool passed = result.status == Status::success;
  html += "<dl>\n";
  std::string ended = "<b class=\"" + std::string(passed ? "good" : "bad") + "\">" +
                      std::string(to_string(result.status)) + "</b>";
  if (result.exit_code) ended += ", exit status " + std::to_string(*result.exit_code);
  if (result.signal) ended += ", " + escaped(*result.signal);
  definition(html, "ended", ended);
  const auto ran = std::chrono::duration_cast<std::chrono::milliseconds>(result.timings.ran);
  definition(html, "ran for", seconds_text(ran));
  html += "</dl>\n";
  block(html, "Standard output", result.standard_output);
  block(html, "Standard error", result.standard_error);
}

void critique_of(std::string& html, const Critique& critique) {
  html += "<h3>Critique</h3>\n<dl>\n";
  definition(html, "diagnosis", escaped(critique.diagnosis));
  definition(html, "fix", escaped(critique.fix));
  definition(html, "confidence", share_text(critique.confidence));
  definition(html, "worth another try", critique.should_retry ? "yes" : "no");
  html += "</dl>\n";
}

void votes_of(std::string& html, const std::vector<Vote>& votes) {
  if (votes.empty()) return;
  html += "<h3>Votes</h3>\n<dl>\n";
  for (const Vote& vote : votes) {
    std::string text = std::string(vote.approves ? "approves" : "rejects") + ", confidence " +
                       share_text(vote.confidence);
    for (const std::string& finding : vote.findings) text += "<br>" + escaped(finding);
    definition(html, escaped(vote.role), text);
  }
  html += "</dl>\n";
}

std::string tokens_text(const llm::Usage& usage) {
  return std::to_string(usage.input_tokens) + " tokens in, " + std::to_string(usage.output_tokens) +
         " out";
}

void attempt_of(std::string& html, const Attempt& attempt, const std::string* before) {
  html += "<section class=\"attempt\">\n<h2>Attempt " + std::to_string(attempt.number);
  if (attempt.candidate > 0) html += ", candidate " + std::to_string(attempt.candidate + 1);
  html += "</h2>\n<p class=\"soft\">" + tokens_text(attempt.usage) + "</p>\n";
  block(html, "Reasoning", attempt.reasoning);
  program(html, attempt, before);
  if (attempt.result) {
    outcome(html, *attempt.result);
  } else {
    html += "<p class=\"soft\">It was not run.</p>\n";
  }
  votes_of(html, attempt.votes);
  if (attempt.critique) critique_of(html, *attempt.critique);
  html += "</section>\n";
}

void summary(std::string& html, std::string_view task, const TaskResult& result) {
  html += "<h1>Trace of a task</h1>\n<pre>" + escaped(task) + "</pre>\n<dl>\n";
  const std::string state = result.success()                         ? "solved"
                            : result.status == TaskStatus::cancelled ? "cancelled"
                                                                     : "not solved";
  definition(html, "outcome",
             "<b class=\"" + std::string(result.success() ? "good" : "bad") + "\">" + state +
                 "</b> after " + std::to_string(result.attempts) +
                 (result.attempts == 1 ? " attempt" : " attempts"));
  definition(html, "time", seconds_text(result.execution_time));
  for (const auto& [provider, usage] : result.usage) {
    definition(html, escaped(provider), tokens_text(usage));
  }
  if (!result.error.empty()) definition(html, "why", escaped(result.error));
  html += "</dl>\n";
}

// The program from which this one was derived: the same candidate's of an earlier round, else the
// latest of an earlier round.
const std::string* program_before(const std::vector<Attempt>& history, std::size_t index) {
  const std::string* before = nullptr;
  for (std::size_t i = index; i-- > 0;) {
    if (history[i].number == history[index].number || history[i].code.empty()) continue;
    if (history[i].candidate == history[index].candidate) return &history[i].code;
    if (before == nullptr) before = &history[i].code;
  }
  return before;
}

}  // namespace

std::string trace_html(std::string_view task, const TaskResult& result,
                       const std::vector<TracedEvent>& events) {
  std::string html(page_head);
  summary(html, task, result);
  timeline(html, events);
  for (std::size_t i = 0; i < result.history.size(); ++i) {
    attempt_of(html, result.history[i], program_before(result.history, i));
  }
  if (result.success()) block(html, "Output", result.output);
  html += "</body>\n</html>\n";
  return html;
}

}  // namespace runtime::agent
