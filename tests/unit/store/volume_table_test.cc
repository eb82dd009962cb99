#include "runtime/store/volume_table.h"

#include <gmock/gmock.h>

#include "runtime/store/database_place.h"
#include "runtime/store/job_schema.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;

TEST(VolumeTable, KeepsAllOfOne) {
  Database database = *Database::open(in_memory);
  ASSERT_TRUE(make_job_tables(database, {}).has_value());
  EXPECT_TRUE(database.is_in_memory());
  VolumeTable table(database);
  VolumeRow row;
  row.id = "a";
  row.owner = "me";
  row.created = StoredTime(3us);
  row.name = "data";
  row.size_mb = 4;
  ASSERT_TRUE(table.add(row).has_value());
  EXPECT_FALSE(table.add(row).has_value()) << "an id is one volume's";
  row.name = "renamed";
  row.size_mb = 7;
  ASSERT_TRUE(table.put(row).has_value());
  EXPECT_EQ(table.all()->front().name, "data") << "put() leaves the name and the size";
  ASSERT_TRUE(table.change(row).has_value());
  row.state = VolumeRow::State::removing;
  row.used_bytes = 5;
  row.files = 6;
  ASSERT_TRUE(table.put(row).has_value());
  VolumeRow other = row;
  other.id = "b";
  ASSERT_TRUE(table.add(other).has_value());
  auto rows = table.all();
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 2u);
  const VolumeRow& back = rows->front();
  EXPECT_EQ(back.id, "a");
  EXPECT_EQ(back.owner, "me");
  EXPECT_EQ(back.created, row.created);
  EXPECT_EQ(back.name, "renamed");
  EXPECT_EQ(back.size_mb, 7u);
  EXPECT_EQ(back.state, VolumeRow::State::removing);
  EXPECT_EQ(back.used_bytes, 5u);
  EXPECT_EQ(back.files, 6u);
  ASSERT_TRUE(table.remove("a").has_value());
  rows = table.all();
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().id, "b");
}

}  // namespace
}  // namespace runtime
