#include "server/cli/task_trace.h"

#include <gtest/gtest.h>

#include <string>

namespace server {
namespace {

using runtime::agent::Event;
using runtime::agent::EventType;

std::string piece(char c) { return '"' + std::string(65'534, c) + '"'; }

TEST(TaskTrace, WhatAProgramWritesWithoutEndIsNotKeptWithoutEnd) {
  TaskTrace trace("print for ever");
  trace.add({EventType::executing, R"({"attempt": 1})"});
  for (int i = 0; i < 10'000; ++i) {
    trace.add({i % 2 == 0 ? EventType::standard_output : EventType::standard_error, piece('x')});
  }
  EXPECT_LT(trace.size(), 32u);
  trace.add({EventType::execution_result, R"({"attempt": 1, "status": "timeout"})"});
  trace.add({EventType::token, piece('t')});
  const std::string page = trace.page({});
  EXPECT_NE(page.find("xxxx"), page.npos);
  EXPECT_NE(page.find("status: timeout"), page.npos);
  EXPECT_NE(page.find("tttt"), page.npos);  // later failures are not the program's fault
}

}  // namespace
}  // namespace server
