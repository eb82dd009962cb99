// A Runner without jails: a function of the test decides what each program does.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sandbox/runner.h"

namespace runtime::agent {

inline RunResult exited(int status, std::string out = "", std::string err = "") {
  RunResult result;
  result.status = status == 0 ? Status::success : Status::error;
  result.exit_code = status;
  result.standard_output = std::move(out);
  result.standard_error = std::move(err);
  return result;
}

class FakeJails final : public Runner {
 public:
  using Answer = jail::Result<RunResult>;

  boost::asio::awaitable<Answer> run(RunRequest request, RunOptions options) override;

  std::optional<Admission::Claim> claim(const std::string&) override { return std::nullopt; }
  jail::Result<LivingJail> launch_living(const LivingRequest&) override {
    return jail::Error{jail::ErrorKind::unsupported, "launch a living jail", 0, {}};
  }
  jail::Result<std::string> explain(const RunRequest&) override { return std::string(); }
  boost::asio::awaitable<void> catch_up_with_network() override { co_return; }
  RunnerState state() const override { return {}; }

  // Returns test_driver.py's last line of standard error.
  static std::string last_line(const RunRequest& request, const std::string& part) {
    return request.standard_input.substr(0, request.standard_input.find(' ')) + ' ' + part + '\n';
  }

  std::function<Answer(const RunRequest&)> program = [](const RunRequest&) { return exited(0); };
  std::vector<RunRequest> requests;
  int max_at_once = 0;
  int cancelled = 0;
  bool hang = false;  // programs run until they are cancelled

 private:
  int at_once_ = 0;
};

}  // namespace runtime::agent
