// The routes. Turns requests into calls of the runner and results into responses.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/observe/logger.h"
#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/runner.h"
#include "server/api/decode_execute.h"
#include "server/http/handler.h"

namespace server {

struct ApiOptions {
  std::string version;
  std::vector<runtime::Secret> keys;
  enum class HostCheck { any, local } host_check = HostCheck::local;
  std::vector<std::string> allowed_hosts;
  ExecuteRules execute;
  runtime::ProgramRoot root;
};

ApiOptions api_options(const runtime::Config& config, runtime::ProgramRoot root,
                       std::string version);

// Runner and logger outlive it.
class Api final : public Handler {
 public:
  Api(ApiOptions options, runtime::Runner& runner, runtime::Logger& logger);

  std::optional<Response> admit(const RequestHead& head) const override;
  boost::asio::awaitable<Response> handle(RequestHead head, std::string body,
                                          std::stop_token gone) override;

 private:
  boost::asio::awaitable<Response> execute(std::string request_id, std::string body,
                                           std::stop_token gone);
  Response health(const RequestHead& head) const;
  Response run_failed(const std::string& request_id, const jail::Error& error) const;

  const ApiOptions options_;
  runtime::Runner& runner_;
  runtime::Logger& logger_;
  const std::chrono::steady_clock::time_point started_;
};

}  // namespace server
