// What language models can do here, each tool over the same service as every other door.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/service/request_rules.h"
#include "runtime/service/services.h"

namespace server {

// Thread-safe.
class McpTools {
 public:
  // What is passed by reference outlives it.
  McpTools(const runtime::Services& services, const runtime::RequestRules& rules)
      : services_(services), rules_(rules) {}

  static bool has(std::string_view name);
  // An array of tools with their schemas.
  void write_list(runtime::json::Writer& writer) const;

  struct Result {
    std::string json{};     // an object, or with is_error what the model should know, as text
    bool is_error = false;  // the tool did not do what it was asked for
  };
  // Of a tool that is there.
  boost::asio::awaitable<Result> call(std::string_view name, runtime::json::Object arguments,
                                      runtime::Caller caller, runtime::Cancel cancel) const;

 private:
  const runtime::Services services_;
  const runtime::RequestRules& rules_;
};

}  // namespace server
