// JSON over HTTP to the services that lessons in Qdrant need, with errors that name the service.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "jail/result.h"
#include "runtime/json/reader.h"
#include "runtime/llm/http_client.h"

namespace runtime::lessons {

struct JsonService {
  llm::HttpClient* client = nullptr;  // must outlive the calls
  std::string name;                   // "Qdrant"; for errors
  std::string key_variable;           // "QDRANT_API_KEY"; the setting to check where the key is
                                      // refused
  llm::HttpHeaders headers;           // including the key
  std::chrono::milliseconds deadline{15'000};
};

struct JsonReply {
  int status = 0;
  std::shared_ptr<const json::Value> value;  // never null
};

// Errors: the service cannot be reached, or its answer is not JSON or has a status of 400 or above,
// except 404 and 409, which the caller handles. `cancel` ends the call.
boost::asio::awaitable<jail::Result<JsonReply>> call_json(JsonService service, std::string method,
                                                          std::string url, std::string body,
                                                          Cancel cancel);

// The member at the end of `path` ("result.points"); null where there is none.
const json::Value* at_path(const json::Value& value, std::string_view path);

}  // namespace runtime::lessons
