#include "server/cli/task_trace.h"

#include <map>

#include "runtime/json/reader.h"
#include "runtime/sandbox/run_result.h"
#include "server/cli/plain_text.h"

namespace server {
namespace {

namespace agent = runtime::agent;

constexpr std::size_t max_entry_bytes = 16u << 10;

// No script, nothing from elsewhere: a guest's text is text, and the page says so twice.
constexpr std::string_view head = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Trace of a task</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
pre { background: #f5f5f2; padding: .6rem; overflow-x: auto; font-size: 13px; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid #ddd; padding: .2rem .6rem .2rem 0; vertical-align: top; }
td pre { margin: 0; max-height: 12rem; overflow-y: auto; }
.time { text-align: right; white-space: nowrap; color: #666; }
.before { background: #fbdcdc; display: block; }
.after { background: #d9f2d9; display: block; }
.both { display: block; color: #555; }
.passed { color: #17692d; } .failed { color: #a11; }
</style></head><body>
)html";

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : plain_text(bytes)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string block(std::string_view text) { return "<pre>" + escaped(text) + "</pre>\n"; }

std::string_view class_of(DiffLine::Side side) {
  switch (side) {
    case DiffLine::Side::before:
      return "before";
    case DiffLine::Side::after:
      return "after";
    case DiffLine::Side::both:
      break;
  }
  return "both";
}

std::string_view sign_of(DiffLine::Side side) {
  if (side == DiffLine::Side::both) return "  ";
  return side == DiffLine::Side::before ? "- " : "+ ";
}

std::string changes(const std::string& before, const std::string& after) {
  std::string text = "<pre>";
  for (const DiffLine& line : diff_of(before, after)) {
    text += "<span class=\"";
    text += class_of(line.side);
    text += "\">";
    text += sign_of(line.side);
    text += escaped(line.text) + "</span>";
  }
  return text + "</pre>\n";
}

std::string fate(const runtime::RunResult& result) {
  const bool passed = result.status == runtime::Status::success;
  std::string text = "<p class=\"";
  text += passed ? "passed" : "failed";
  text += "\">" + std::string(runtime::to_string(result.status));
  if (result.exit_code) text += ", exit status " + std::to_string(*result.exit_code);
  text += "</p>\n";
  if (!result.standard_output.empty()) text += "<p>stdout</p>" + block(result.standard_output);
  if (!result.standard_error.empty()) text += "<p>stderr</p>" + block(result.standard_error);
  return text;
}

std::string judgement(const agent::Attempt& attempt) {
  std::string text;
  if (attempt.critique) {
    text += "<p>critique</p>" + block(attempt.critique->diagnosis + "\n\n" + attempt.critique->fix);
  }
  for (const agent::Vote& vote : attempt.votes) {
    text += "<p>" + escaped(vote.role) + (vote.approves ? " approves" : " rejects") + "</p>\n";
    for (const std::string& finding : vote.findings) text += block(finding);
  }
  return text;
}

// `before`: the program of the attempt before, of the same candidate.
std::string attempt_text(const agent::Attempt& attempt, const std::string* before) {
  std::string text = "<h2>Attempt " + std::to_string(attempt.number);
  if (attempt.candidate > 0) text += ", candidate " + std::to_string(attempt.candidate + 1);
  text += "</h2>\n";
  if (!attempt.reasoning.empty()) text += "<p>" + escaped(attempt.reasoning) + "</p>\n";
  text += before == nullptr ? block(attempt.code) : changes(*before, attempt.code);
  if (attempt.result) text += fate(*attempt.result);
  return text + judgement(attempt);
}

// Text that comes in pieces is one entry.
bool comes_in_pieces(agent::EventType type) {
  return type == agent::EventType::token || type == agent::EventType::standard_output ||
         type == agent::EventType::standard_error;
}

std::string text_of(const agent::Event& event) {
  const auto parsed = runtime::json::parse(event.data, "event");
  if (!parsed || parsed->as_string() == nullptr) return event.data;
  return *parsed->as_string();
}

}  // namespace

TaskTrace::TaskTrace(const agent::TaskRequest& request)
    : task_(request.task), began_(Clock::now()) {}

void TaskTrace::add(const agent::Event& event) {
  const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
  const std::string type(agent::name_of(event.type));
  const bool goes_on =
      comes_in_pieces(event.type) && !entries_.empty() && entries_.back().type == type;
  if (!goes_on) entries_.push_back({at, type, {}});
  std::string& data = entries_.back().data;
  if (data.size() < max_entry_bytes) data += text_of(event);
  if (data.size() > max_entry_bytes) data.resize(max_entry_bytes);
}

std::string TaskTrace::page(const agent::TaskResult& result) const {
  std::string page(head);
  page += "<h1>" + std::string(result.success() ? "Solved" : "Not solved") + "</h1>\n";
  page += block(task_);
  if (!result.error.empty()) page += "<p class=\"failed\">" + escaped(result.error) + "</p>\n";
  std::map<std::uint32_t, const std::string*> before;
  for (const agent::Attempt& attempt : result.history) {
    const auto found = before.find(attempt.candidate);
    page += attempt_text(attempt, found == before.end() ? nullptr : found->second);
    before[attempt.candidate] = &attempt.code;
  }
  page += "<h2>Timeline</h2>\n<table>\n";
  for (const Entry& entry : entries_) {
    page += "<tr><td class=\"time\">" + std::to_string(entry.at.count()) + " ms</td><td>" +
            escaped(entry.type) + "</td><td>" + block(entry.data) + "</td></tr>\n";
  }
  return page + "</table>\n</body></html>\n";
}

}  // namespace server
