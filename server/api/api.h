// The routes. Turns requests into calls of the runtime and what comes back into responses.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/sandbox/program_root.h"
#include "server/api/decode_execute.h"
#include "server/api/programs.h"
#include "server/api/rate_limit.h"
#include "server/api/routes.h"
#include "server/http/handler.h"

namespace server {

struct ApiOptions {
  std::string version;
  std::vector<runtime::Secret> keys;
  enum class HostCheck { any, local } host_check = HostCheck::local;
  std::vector<std::string> allowed_hosts;
  std::optional<RequestRate> key_rate;  // of each key; without keys, of all callers together
  std::function<RateLimit::Clock::time_point()> clock = &RateLimit::Clock::now;
  ExecuteRules execute;
  runtime::ProgramRoot root;
};

// `providers`: the names of those that tasks may use.
ApiOptions api_options(const runtime::Config& config, runtime::ProgramRoot root,
                       std::vector<runtime::Template> templates, std::string version,
                       const std::vector<std::string>& providers = {});

class Api final : public Handler {
 public:
  Api(ApiOptions options, Services services);

  std::optional<Response> admit(const RequestHead& head) const override;
  boost::asio::awaitable<Response> handle(RequestHead head, std::string body,
                                          std::stop_token gone) override;
  void answered(const RequestHead& head, int status) override;
  bool takes_over(const RequestHead& head) const override;
  boost::asio::awaitable<void> take_over(Socket socket, RequestHead head, BodyBudget& budget,
                                         std::stop_token gone) override;

  // From now on no program is taken any more; what can be read can still be read. Thread-safe.
  void drain() { draining_.request_stop(); }

 private:
  boost::asio::awaitable<Response> execute(RequestHead head, std::string body,
                                           std::stop_token gone);
  boost::asio::awaitable<Response> execute_task(RequestHead head,
                                                runtime::agent::TaskRequest request,
                                                std::stop_token gone);
  boost::asio::awaitable<Response> benchmark(RequestHead head, std::string body,
                                             std::stop_token gone);
  boost::asio::awaitable<Response> list_lessons(RequestHead head);
  boost::asio::awaitable<Response> erase_lessons(RequestHead head, std::optional<std::string> id);
  boost::asio::awaitable<Response> list_jobs(RequestHead head);
  boost::asio::awaitable<Response> job(RequestHead head, std::string id);
  boost::asio::awaitable<Response> cancel_job(RequestHead head, std::string id);
  Response health(const RequestHead& head) const;
  Response stats() const;
  Response metrics() const;
  std::optional<Response> admit_stream(const RequestHead& head) const;
  std::optional<Response> check_rate(std::optional<std::size_t> key) const;
  bool is_draining() const { return draining_.stop_requested(); }
  Response jobs_failed(const RequestHead& head, const jail::Error& error) const;
  Response lessons_failed(const RequestHead& head, const jail::Error& error) const;

  Asker asker_of(const RequestHead& head) const;
  std::optional<std::string> owner_filter(const RequestHead& head) const;
  std::chrono::duration<double> uptime() const;

  const ApiOptions options_;
  const Services services_;
  std::vector<std::string> owners_;              // of jobs, in the order of the keys
  const std::unique_ptr<RateLimit> rate_limit_;  // null: no bound
  const std::chrono::steady_clock::time_point started_;
  std::stop_source draining_;
};

}  // namespace server
