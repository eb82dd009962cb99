#include "runtime/store/database.h"

#include <gmock/gmock.h>

#include <optional>

#include "runtime/store/database_place.h"

namespace runtime {
namespace {

class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(database_.run("CREATE TABLE names (name TEXT UNIQUE)").has_value());
  }

  jail::Result<void> insert(std::string_view name) {
    return database_.prepare(insertion)->text(name).run();
  }

  static constexpr const char* insertion = "INSERT INTO names (name) VALUES (?)";
  static constexpr const char* selection = "SELECT name FROM names ORDER BY name";
  Database database_ = *Database::open(in_memory);
};

TEST_F(DatabaseTest, AStatementThatIsPreparedAgainHasNoneOfTheOldValues) {
  ASSERT_TRUE(insert("a").has_value());
  auto again = database_.prepare(insertion);
  ASSERT_TRUE(again.has_value());
  ASSERT_TRUE(again->run().has_value());
  auto rows = database_.prepare(selection);
  ASSERT_TRUE(*rows->step());
  EXPECT_TRUE(rows->null_at(0)) << "a value that is not bound is null";
}

TEST_F(DatabaseTest, TwoStatementsOfOneTextDoNotDisturbEachOther) {
  ASSERT_TRUE(insert("a").has_value());
  ASSERT_TRUE(insert("b").has_value());
  auto one = database_.prepare(selection);
  ASSERT_TRUE(*one->step());
  auto other = database_.prepare(selection);
  ASSERT_TRUE(*other->step());
  EXPECT_EQ(other->text_at(0), "a");
  ASSERT_TRUE(*one->step());
  EXPECT_EQ(one->text_at(0), "b");
}

TEST_F(DatabaseTest, AStatementThatWasLeftHalfWayBeginsAtItsFirstRow) {
  ASSERT_TRUE(insert("a").has_value());
  ASSERT_TRUE(insert("b").has_value());
  ASSERT_TRUE(*database_.prepare(selection)->step());
  auto rows = database_.prepare(selection);
  ASSERT_TRUE(*rows->step());
  EXPECT_EQ(rows->text_at(0), "a");
}

TEST_F(DatabaseTest, AStatementThatFailedSucceedsWithOtherValues) {
  ASSERT_TRUE(insert("a").has_value());
  EXPECT_FALSE(insert("a").has_value());
  EXPECT_TRUE(insert("b").has_value());
}

TEST_F(DatabaseTest, AStatementFollowsTheTablesAsTheyChange) {
  ASSERT_TRUE(insert("a").has_value());
  ASSERT_TRUE(*database_.prepare("SELECT * FROM names")->step());
  ASSERT_TRUE(database_.run("ALTER TABLE names ADD COLUMN age INTEGER DEFAULT 7").has_value());
  {
    auto rows = database_.prepare("SELECT * FROM names");
    ASSERT_TRUE(*rows->step());
    EXPECT_EQ(rows->integer_at(1), 7);
  }
  EXPECT_TRUE(database_.run("DROP TABLE names").has_value()) << "an idle statement holds nothing";
}

TEST_F(DatabaseTest, AWorkThatFailsInATransactionLeavesNothingAndTheNextOneBegins) {
  const auto fails = [this]() -> jail::Result<void> {
    if (auto done = insert("a"); !done) return done;
    return insert("a");
  };
  EXPECT_FALSE(database_.transaction(fails).has_value());
  EXPECT_EQ(*database_.number("SELECT count(*) FROM names"), 0);
  ASSERT_TRUE(database_.transaction([this] { return insert("a"); }).has_value());
  EXPECT_EQ(*database_.number("SELECT count(*) FROM names"), 1);
}

TEST_F(DatabaseTest, AStatementMayOutliveItsDatabase) {
  std::optional<Database> database(std::move(database_));
  auto rows = database->prepare(selection);
  ASSERT_TRUE(rows.has_value());
  database.reset();
  EXPECT_FALSE(*rows->step());
}

}  // namespace
}  // namespace runtime
