#include "runtime/service/file_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/service/url_uses.h"

namespace runtime {
namespace {

using Operation = FileGrant::Operation;

std::string signature(Operation operation, std::string path, std::int64_t expires,
                      std::string_view sandbox = "abc", const char* key = "key") {
  const FileGrant grant{.operation = operation,
                        .path = std::move(path),
                        .expires = std::chrono::sys_seconds(std::chrono::seconds(expires))};
  return signature_of(grant, sandbox, Secret(key));
}

TEST(FileUrl, TheSignatureIsTheHmacOfWhatIsGranted) {
  EXPECT_EQ(signature(Operation::read, "/workspace/file", 1'700'000'000),
            "ef9d015e1c11eddd2da5e719ef72a28da620e6ad2c495ba9e7c098eafd52533f");
}

TEST(FileUrl, EveryPartOfAGrantChangesItsSignature) {
  const std::set<std::string> signatures = {signature(Operation::read, "/a", 1),
                                            signature(Operation::write, "/a", 1),
                                            signature(Operation::read, "/b", 1),
                                            signature(Operation::read, "/a/", 1),
                                            signature(Operation::read, "/a", 2),
                                            signature(Operation::read, "/a", 1, "abd"),
                                            signature(Operation::read, "/a\n", 1),
                                            signature(Operation::read, "\n/a", 1),
                                            signature(Operation::read, "c\n/a", 1, "ab"),
                                            signature(Operation::read, "/a", 1, "abc", "kez")};
  EXPECT_EQ(signatures.size(), 10u);
}

TEST(UrlUses, ManyAreToldTogether) {
  UrlUses uses;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t each = 0; each < UrlUses::told_at_once; ++each) {
    EXPECT_EQ(uses.tell(begin), 1U);
  }
  for (int each = 0; each < 1000; ++each) EXPECT_EQ(uses.tell(begin), std::nullopt);
  EXPECT_EQ(uses.tell(begin + 2 * UrlUses::for_one_more), 1001U);
  EXPECT_EQ(uses.tell(begin + 2 * UrlUses::for_one_more), 1U);
  EXPECT_EQ(uses.tell(begin + 2 * UrlUses::for_one_more), std::nullopt);
}

}  // namespace
}  // namespace runtime
