// Operations that several doors share, called as the doors call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/service/caller_lessons.h"
#include "runtime/service/request_rules.h"
#include "tests/unit/server/fake_runner.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Has one lesson, "1", for everybody; every other call fails as the test says.
class FakeLessons final : public agent::LessonStore {
 public:
  boost::asio::awaitable<jail::Result<std::vector<agent::Lesson>>> recall(std::string, std::string,
                                                                          std::uint32_t,
                                                                          Cancel) override {
    co_return std::vector<agent::Lesson>();
  }
  boost::asio::awaitable<jail::Result<void>> learn(std::string, agent::Lesson, Cancel) override {
    co_return jail::Result<void>();
  }
  boost::asio::awaitable<jail::Result<agent::LessonPage>> list(
      std::string owner, std::uint32_t limit, std::optional<std::string>) override {
    asked = owner + " " + std::to_string(limit);
    if (failure) co_return jail::Error{*failure, "/host/path", 0, {}};
    co_return agent::LessonPage();
  }
  boost::asio::awaitable<jail::Result<std::uint64_t>> erase(
      std::string, std::optional<std::string> id) override {
    if (failure) co_return jail::Error{*failure, "/host/path", 0, {}};
    const bool is_there = !id || *id == "1";
    co_return std::uint64_t{is_there};
  }

  std::string asked;
  std::optional<jail::ErrorKind> failure;
};

class LessonOperations : public ::testing::Test {
 protected:
  template <class Value>
  static std::variant<Value, Refusal> done(
      boost::asio::awaitable<std::variant<Value, Refusal>> work) {
    boost::asio::io_context context;
    std::optional<std::variant<Value, Refusal>> result;
    boost::asio::co_spawn(context, std::move(work),
                          [&result](std::exception_ptr, std::variant<Value, Refusal> value) {
                            result = std::move(value);
                          });
    context.run();
    return std::move(*result);
  }

  Refusal refusal_of_list() {
    auto listed = done<agent::LessonPage>(list_lessons({&store_, logger_}, caller_, {}));
    return std::get<Refusal>(std::move(listed));
  }

  const Caller caller_{{.tenant = "me", .key = 0}, "the-request"};
  std::string log_;
  Logger logger_{{.level = LogLevel::info,
                  .format = LogFormat::text,
                  .write = [this](std::string_view line) { log_ += line; }}};
  FakeLessons store_;
};

TEST_F(LessonOperations, AreOfTheCallersOwn) {
  const auto listed = done<agent::LessonPage>(
      list_lessons({&store_, logger_}, caller_, {.limit = 7, .cursor = {}}));
  EXPECT_TRUE(std::holds_alternative<agent::LessonPage>(listed));
  EXPECT_EQ(store_.asked, "me 7");
  const auto erased = done<std::uint64_t>(erase_lessons({&store_, logger_}, caller_, "1"));
  EXPECT_EQ(std::get<std::uint64_t>(erased), 1u);
}

TEST_F(LessonOperations, SayWhyTheyWereNotDone) {
  const auto none = done<std::uint64_t>(erase_lessons({&store_, logger_}, caller_, "2"));
  EXPECT_EQ(std::get<Refusal>(none).code, RefusalCode::no_such_lesson);
  const auto off = done<std::uint64_t>(erase_lessons({nullptr, logger_}, caller_, std::nullopt));
  EXPECT_EQ(std::get<Refusal>(off).code, RefusalCode::lessons_off);
  store_.failure = jail::ErrorKind::invalid;
  EXPECT_EQ(refusal_of_list().code, RefusalCode::bad_request);
  EXPECT_EQ(log_, "");
  store_.failure = jail::ErrorKind::kernel;
  const Refusal failed = refusal_of_list();
  EXPECT_EQ(failed.code, RefusalCode::internal_server_error);
  EXPECT_THAT(failed.detail, Not(HasSubstr("/host/path")));
  EXPECT_THAT(log_, HasSubstr("/host/path"));
  EXPECT_THAT(log_, HasSubstr("the-request"));
}

TEST(RulesOf, AreTheOperators) {
  Config config;
  config.sandbox_timeout = 7s;
  config.sandbox_memory_limit_mb = 99;
  config.ceilings.memory_limit_mb = 1234;
  config.sandbox_max_lifetime = 2min;
  config.network_allow = {"example.org:443"};
  auto root = server::full_root();
  root.versions.erase("node");
  const RequestRules without = rules_of(config, root, {});
  EXPECT_EQ(without.default_timeout, 7s);
  EXPECT_EQ(without.default_memory_limit_mb, 99u);
  EXPECT_EQ(without.ceilings.memory_limit_mb, 1234u);
  EXPECT_EQ(without.max_lifetime, 2min);
  EXPECT_TRUE(without.network.empty()) << "the network is off";
  EXPECT_TRUE(without.why_no_language.contains(Language::javascript));
  EXPECT_FALSE(without.why_no_language.contains(Language::python));
  EXPECT_THAT(without.suites, Contains("quick"));
  EXPECT_NE(without.why_no_task, "");
  config.network_enabled = true;
  EXPECT_EQ(rules_of(config, root, {}).network, config.network_allow);
}

}  // namespace
}  // namespace runtime
