// Amounts and envelopes of server/api/kubernetes_style.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/kubernetes_style/create_request.h"
#include "server/api/kubernetes_style/envelope.h"
#include "server/api/kubernetes_style/quantity.h"

namespace server::kubernetes_style {
namespace {

using ::testing::HasSubstr;

TEST(Quantity, Processors) {
  EXPECT_EQ(millicores_of("100m"), 100u);
  EXPECT_EQ(millicores_of("1"), 1000u);
  EXPECT_EQ(millicores_of("0.5"), 500u);
  EXPECT_EQ(millicores_of("2.125"), 2125u);
  EXPECT_EQ(millicores_of("0"), 0u);
  for (const char* text : {"", "m", "-1", "+1", "1.", ".5", "1.2345", "1.5m", "1e3", " 1", "1 ",
                           "one", "0x1", "1Mi", "99999999999999999999", "1000001"}) {
    EXPECT_FALSE(millicores_of(text)) << text;
  }
}

TEST(Quantity, Bytes) {
  EXPECT_EQ(bytes_of("128Mi"), 128u << 20);
  EXPECT_EQ(bytes_of("1Gi"), 1u << 30);
  EXPECT_EQ(bytes_of("1.5Ki"), 1536u);
  EXPECT_EQ(bytes_of("500M"), 500'000'000u);
  EXPECT_EQ(bytes_of("2k"), 2000u);
  EXPECT_EQ(bytes_of("1048576"), 1u << 20);
  for (const char* text :
       {"", "Mi", "-1Mi", "128MB", "128mi", "1.5", "1.2345Gi", "1e6", "128 Mi", "8192Ti",
        "9999999999Ti", "9007199254740992", "99999999999999999999999"}) {
    EXPECT_FALSE(bytes_of(text)) << text;
  }
}

TEST(Quantity, AsText) {
  EXPECT_EQ(millicores_text(1), "1000m");
  EXPECT_EQ(millicores_text(0.25), "250m");
  EXPECT_EQ(mebibytes_text(1024), "1024Mi");
}

TEST(Envelope, OfWhatWasDone) {
  EXPECT_EQ(enveloped(R"({"a":1})").body, R"({"code":"0","data":{"a":1}})");
  EXPECT_EQ(enveloped_text("a \"b\"").body, R"({"code":"0","data":"a \"b\""})");
  EXPECT_EQ(enveloped_text("x").status, 200);
}

TEST(Envelope, OfWhatWasNot) {
  const Response unknown = in_envelope(problem(RefusalCode::no_such_sandbox, "no such sandbox"));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.content_type, "application/json");
  EXPECT_EQ(unknown.body, R"({"code":"500","error":"no such sandbox"})");
  const Response nobody = in_envelope(
      problem(RefusalCode::unauthorized, "expected a key", {{"WWW-Authenticate", "Bearer"}}));
  EXPECT_EQ(nobody.body, R"({"code":"401","error":"Unauthorized"})");
  ASSERT_EQ(nobody.headers.size(), 1u);
  EXPECT_EQ(in_envelope(problem(RefusalCode::content_too_large, "large")).body,
            R"({"code":"413","error":"large"})");
  EXPECT_EQ(
      in_envelope(problem({.code = RefusalCode::rate_limit, .detail = "often", .remedy = "wait"}))
          .body,
      R"({"code":"429","error":"often; wait"})");
}

TEST(CreateRequest, AnOperatorsBoundsAreTheDefaultsToo) {
  runtime::RequestRules rules;
  rules.max_lifetime = std::chrono::seconds(150);
  rules.ceilings.memory_limit_mb = 64;
  const auto read = decode_create("{}", rules, 1);
  ASSERT_TRUE(std::holds_alternative<runtime::SandboxRequest>(read));
  EXPECT_EQ(std::get<runtime::SandboxRequest>(read).timeout, std::chrono::minutes(2));
  EXPECT_EQ(std::get<runtime::SandboxRequest>(read).memory_mb, 64u);
  EXPECT_EQ(std::get<runtime::SandboxRequest>(read).disk_mb, 64u);
  const auto refused = [&rules](std::string_view body, double cores) {
    return std::get<Response>(decode_create(body, rules, cores)).body;
  };
  EXPECT_THAT(refused(R"({"timeout":3})", 1),
              HasSubstr(R"("code":"out_of_range","limit":2,"used":3)"));
  EXPECT_THAT(refused(R"({"cpu_limit":"1"})", 0.5),
              HasSubstr(R"("code":"out_of_range","limit":500,"used":1000)"));
  EXPECT_THAT(refused(R"({"idle_timout":3})", 1), HasSubstr("did you mean idle_timeout?"));
}

}  // namespace
}  // namespace server::kubernetes_style
