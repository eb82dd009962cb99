// An AgentRuntime over a scripted provider and fake jails, on one thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/agent/agent_runtime.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "tests/unit/agent/fake_jails.h"
#include "tests/unit/agent/scripted_provider.h"

namespace runtime::agent {

inline std::string coded(const std::string& code) {
  return R"({"code": )" + json::quoted(code, code.size()) +
         R"(, "reasoning": "because", "dependencies": []})";
}

inline std::string criticism(const std::string& diagnosis, bool should_retry = true,
                             double confidence = 0.9) {
  json::Writer writer;
  writer.begin_object().key("diagnosis").string(diagnosis).key("fix").string("fix: " + diagnosis);
  writer.key("should_retry").boolean(should_retry).key("confidence").number(confidence);
  writer.end_object();
  return std::move(writer).take();
}

inline std::string tested(const std::string& tests) {
  return R"({"tests": )" + json::quoted(tests, tests.size()) + R"(, "reasoning": "all of it"})";
}

class LoopTest : public testing::Test {
 protected:
  struct Seen {
    std::string type;
    std::string text;
    json::Value value;
    std::size_t reports = 0;  // reports that came before it
  };

  TaskResult run(TaskRequest request, LessonStore* lessons = nullptr) {
    AgentParts parts;
    parts.runner = &jails_;
    parts.providers = {&model_};
    parts.lessons = lessons;
    AgentRuntime runtime(std::move(parts));
    TaskOptions options;
    options.cancel = cancel_;
    options.caller = "somebody";
    options.on_attempt = [this](std::size_t place, const Attempt& attempt) {
      EXPECT_LE(place, reported_.size());
      reported_.resize(std::max(reported_.size(), place + 1));
      reported_[place] = attempt;
      reports_.push_back(place);
    };
    options.on_event = [this](const Event& event) { see(event); };
    std::optional<TaskResult> result;
    boost::asio::io_context loop;
    boost::asio::co_spawn(loop, keep(runtime.run(std::move(request), std::move(options)), result),
                          boost::asio::detached);
    loop.run();
    EXPECT_TRUE(result.has_value());
    return result ? std::move(*result) : TaskResult{};
  }

  static boost::asio::awaitable<void> keep(boost::asio::awaitable<TaskResult> task,
                                           std::optional<TaskResult>& result) {
    TaskResult value = co_await std::move(task);
    result.emplace(std::move(value));
  }

  void see(const Event& event) {
    auto value = json::parse(event.data, "event");
    EXPECT_TRUE(value) << event.data;
    const std::string type(name_of(event.type));
    if (type == cancel_at_) cancel_.request();
    if (value) events_.push_back({type, event.data, *value, reports_.size()});
  }

  // Returns the types without tokens, which come in pieces.
  std::vector<std::string> event_types() const {
    std::vector<std::string> types;
    for (const Seen& one : events_) {
      if (one.type != "token") types.push_back(one.type);
    }
    return types;
  }

  static TaskRequest task(std::string text = "Print 42.") {
    TaskRequest request;
    request.task = std::move(text);
    return request;
  }

  // The first `count` programs fail.
  void fail_first(int count, std::string err = "Traceback: boom\n") {
    jails_.program = [this, count, err = std::move(err)](const RunRequest&) -> FakeJails::Answer {
      const bool fails = static_cast<int>(jails_.requests.size()) <= count;
      return fails ? exited(1, "wrong\n", err) : exited(0, "42\n");
    };
  }

  ScriptedProvider model_;
  FakeJails jails_;
  Cancel cancel_;
  std::string cancel_at_;  // type of the event at which the task is cancelled
  std::vector<Seen> events_;
  std::vector<Attempt> reported_;     // the latest version of each
  std::vector<std::size_t> reports_;  // their places, in the order of the reports
};

}  // namespace runtime::agent
