// A loop with runs over jails that are only pipes, by a clock that the test moves.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/sandbox/run.h"
#include "tests/unit/sandbox/fake_jail.h"
#include "tests/unit/sandbox/manual_clock.h"

namespace runtime {

inline RunRequest program() {
  RunRequest request;
  request.code = "the program";
  return request;
}

// The origin of a jail.
enum class Kind : std::uint8_t { of_its_own, pooled };

class RunTest : public testing::Test {
 protected:
  struct Outcome {
    std::optional<jail::Result<RunResult>> told;
    RunResult result() const {
      EXPECT_TRUE(told && *told) << (told ? told->error().message() : "not over");
      return told && *told ? **told : RunResult();
    }
    jail::Error error() const {
      EXPECT_TRUE(told && !*told);
      return told && !*told ? told->error() : jail::Error();
    }
  };
  struct Asked {
    Acquisition::Way way;
    JailMaker failed;
  };
  struct Next {
    Kind kind;
    std::shared_ptr<FakeJail> jail;
    JailMaker maker;
    std::function<bool()> maker_has_ended;
  };

  static void SetUpTestSuite() { ::signal(SIGPIPE, SIG_IGN); }

  RunTest() {
    setting_.output_cap_bytes = 10;
    setting_.clock = clock_;
    set_places(1, 1);
    setting_.launch = [this](const RunRequest&, Acquisition::Way way, const JailMaker& failed,
                             const WarmPool::MakeTicket& make_ticket) {
      return launch(way, failed, make_ticket);
    };
    setting_.make_room = [this] {
      ++asked_for_room_;
      return asked_for_room_ <= idle_;
    };
    setting_.collectors = [this] { return collectors_.get_executor(); };
  }

  void set_places(std::uint32_t places, std::uint32_t queue) {
    setting_.admission = std::make_shared<Admission>(places, queue);
  }

  // Adds the next jail that is launched.
  std::shared_ptr<FakeJail> add(Kind kind, jail::Phase phase) {
    auto jail = std::make_shared<FakeJail>();
    jail->phase = phase;
    next_.push_back({kind, jail, std::make_shared<const int>(0), nullptr});
    return jail;
  }

  static Leased lease(const Next& next) {
    return {.jail = std::make_unique<FakeJailHandle>(next.jail),
            .pooled = next.kind == Kind::pooled,
            .warm = next.kind == Kind::pooled,
            .template_name = next.kind == Kind::pooled ? "mine" : "",
            .maker = next.maker,
            .maker_has_ended = next.maker_has_ended};
  }

  // Where there is no jail, the run waits for one.
  std::optional<jail::Result<Leased>> launch(Acquisition::Way way, const JailMaker& failed,
                                             const WarmPool::MakeTicket& make_ticket) {
    asked_.push_back({way, failed});
    if (lacks_ > 0) {
      --lacks_;
      return jail::Error{jail::ErrorKind::exhausted, "make a pipe", EMFILE, {}};
    }
    if (next_.empty()) {
      tickets_.push_back(make_ticket());
      return std::nullopt;
    }
    const Next next = next_.front();
    next_.pop_front();
    return lease(next);
  }

  std::shared_ptr<Outcome> begin(RunRequest request = program(), RunOptions options = {}) {
    auto outcome = std::make_shared<Outcome>();
    boost::asio::co_spawn(*loop_, work(std::move(request), std::move(options), outcome),
                          boost::asio::detached);
    go_on();
    return outcome;
  }

  boost::asio::awaitable<void> work(RunRequest request, RunOptions options,
                                    std::shared_ptr<Outcome> outcome) {
    runtime::Run run(loop_->get_executor(), setting_, std::move(request), std::move(options));
    outcome->told.emplace(co_await run.result());
  }

  // Runs all that can be done now.
  void go_on() {
    loop_->restart();
    loop_->poll();
  }

  void pass(std::chrono::milliseconds time) {
    clock_->advance(time);
    go_on();
  }

  void end(FakeJail& jail, jail::Ended ended, int exit_code = 0) {
    jail.end(ended, exit_code);
    go_on();
  }

  boost::asio::io_context collectors_{1};
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  runtime::Run::Setting setting_;
  std::deque<Next> next_;
  std::vector<Asked> asked_;
  int lacks_ = 0;  // number of launches that find no descriptor
  int idle_ = 0;   // number of jails that nobody waits for
  int asked_for_room_ = 0;
  std::vector<std::weak_ptr<WarmPool::Ticket::element_type>> tickets_;
  // Drops its runs before the objects that they use go.
  std::unique_ptr<boost::asio::io_context> loop_ = std::make_unique<boost::asio::io_context>(1);
};

}  // namespace runtime
