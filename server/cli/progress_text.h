// The events of a task in words, for whoever watches it at a terminal or reads a log.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/agent/event.h"
#include "runtime/agent/task.h"
#include "runtime/json/reader.h"
#include "server/cli/arguments.h"
#include "server/cli/terminal.h"

namespace server {

struct ProgressStyle {
  Colours colours = Colours::none;
  RunTaskOptions::Detail detail = RunTaskOptions::Detail::usual;
  std::uint32_t max_attempts = 3;  // 0: not known
};

// What an event adds to what is shown.
struct ProgressStep {
  std::string text;   // stays; whole lines, or nothing
  std::string doing;  // what goes on from here on; empty: as before
};

// Nothing that a guest or a model wrote gets into the text unless plain_text() has gone over it.
class ProgressText {
 public:
  explicit ProgressText(ProgressStyle style) : style_(style) {}

  ProgressStep of(const runtime::agent::Event& event);
  // The last lines.
  std::string end_of(const runtime::agent::TaskResult& result) const;

 private:
  std::string painted(const char* colour, const std::string& text) const;
  std::string attempt_text(std::int64_t attempt) const;
  std::string code_text(const std::string& code) const;
  std::string result_text(const runtime::json::Object& data) const;
  std::string critique_text(const runtime::json::Object& data) const;
  bool shows_all() const { return style_.detail == RunTaskOptions::Detail::all; }

  const ProgressStyle style_;
  std::int64_t shown_attempt_ = 0;  // whose headline stands there already
};

}  // namespace server
