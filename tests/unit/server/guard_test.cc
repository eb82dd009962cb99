#include "server/api/guard.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/observe/logger.h"
#include "runtime/store/job_place.h"
#include "runtime/store/jobs.h"

namespace server {
namespace {

RequestHead head_with(std::vector<Header> headers) {
  RequestHead head;
  head.headers = std::move(headers);
  return head;
}

class ShownKeys : public testing::Test {
 protected:
  std::optional<std::size_t> place(std::vector<Header> headers) const {
    const auto found = principal_shown(head_with(std::move(headers)), authentication_);
    return found ? found->key : std::nullopt;
  }

  runtime::Logger logger_{runtime::LogOptions{.write = [](std::string_view) {}}};
  runtime::Jobs jobs_{*runtime::JobTable::open(runtime::in_memory, {}), logger_};
  runtime::Authentication authentication_{
      {{.secret = runtime::Secret("first")}, {.secret = runtime::Secret("second")}}, jobs_};
};

TEST_F(ShownKeys, AreBearerTokensOrInTheirOwnHeader) {
  for (const Header& header : std::vector<Header>{{"Authorization", "Bearer first"},
                                                  {"authorization", "bearer   second "},
                                                  {"X-API-Key", "second"},
                                                  {"x-api-key", "first"}}) {
    EXPECT_TRUE(place({header})) << header.value;
  }
  for (const Header& header : std::vector<Header>{{"Authorization", "first"},
                                                  {"Authorization", "Bearer"},
                                                  {"Authorization", "Bearer "},
                                                  {"Authorization", "Bearer firs"},
                                                  {"Authorization", "Bearer first first"},
                                                  {"Authorization", "Bearer firstfirst"},
                                                  {"Authorization", "Basic first"},
                                                  {"X-API-Key", ""},
                                                  {"X-API-Key", "First"},
                                                  {"Cookie", "first"}}) {
    EXPECT_FALSE(place({header})) << header.value;
  }
  EXPECT_FALSE(place({}));
}

TEST_F(ShownKeys, OfTwoTheBearerTokenCounts) {
  EXPECT_EQ(place({{"X-API-Key", "second"}}), 1u);
  EXPECT_EQ(place({{"Authorization", "Bearer first"}, {"X-API-Key", "second"}}), 0u);
  EXPECT_EQ(place({{"Authorization", "Bearer wrong"}, {"X-API-Key", "second"}}), 1u);
  EXPECT_EQ(place({{"X-API-Key", "third"}}), std::nullopt);
}

TEST(Guard, OnlyLocalNamesAreLocal) {
  for (const char* host : {"localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "127.8.0.1",
                           "[::1]", "[::1]:8000", "api.example", "API.example:443"}) {
    EXPECT_TRUE(is_local_host(head_with({{"Host", host}}), {"api.example"})) << host;
  }
  for (const char* host : {"",
                           "evil.example",
                           "localhost.evil.example",
                           "127.0.0.1.evil.example",
                           "evil.example:127",
                           "0.0.0.0",
                           "192.168.0.1",
                           "[::2]",
                           "api.example.evil",
                           "user@localhost",
                           "localhost, evil",
                           "[::1].evil",
                           "[::1]evil",
                           "[",
                           "[]",
                           "[]:1",
                           "[localhost].evil",
                           "127.0.0.1:8200,evil",
                           "localhost:",
                           "localhost:x",
                           "localhost:123456",
                           "localhost:80:80",
                           "[::1]:",
                           "[::1]:8x",
                           "localhost /",
                           ":80",
                           "[localhost]"}) {
    EXPECT_FALSE(is_local_host(head_with({{"Host", host}}), {"api.example"})) << host;
  }
  EXPECT_TRUE(is_local_host(head_with({}), {}));
}

TEST(Guard, OnlyJsonIsJson) {
  for (const char* type : {"application/json", "Application/JSON",
                           "application/json; charset=utf-8", "application/json;charset=UTF-8",
                           "application/json; charset=\"utf-8\"", "application/json;"}) {
    EXPECT_TRUE(is_json(head_with({{"Content-Type", type}}))) << type;
  }
  for (const char* type :
       {"", "text/plain", "application/jsonp", "application/json; charset=latin-1", "text/json",
        "application/x-www-form-urlencoded", "text/plain; application/json"}) {
    EXPECT_FALSE(is_json(head_with({{"Content-Type", type}}))) << type;
  }
  EXPECT_FALSE(is_json(head_with({})));
}

}  // namespace
}  // namespace server
