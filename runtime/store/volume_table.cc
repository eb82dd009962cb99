#include "runtime/store/volume_table.h"

#include "runtime/store/stored_time.h"

namespace runtime {

using jail::Result;

namespace {

VolumeRow::State state_of(std::int64_t number) {
  using State = VolumeRow::State;
  if (number == static_cast<std::int64_t>(State::ready)) return State::ready;
  return number == static_cast<std::int64_t>(State::making) ? State::making : State::removing;
}

}  // namespace

Result<void> VolumeTable::add(const VolumeRow& row) {
  auto insert = database_.prepare(
      "INSERT INTO volumes (id, owner, created, name, size_mb, state, used_bytes, files)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insert) return insert.error();
  insert->text(row.id).text(row.owner).integer(to_microseconds(row.created)).text(row.name);
  insert->integer(row.size_mb).integer(static_cast<std::int64_t>(row.state));
  insert->integer(static_cast<std::int64_t>(row.used_bytes));
  insert->integer(static_cast<std::int64_t>(row.files));
  return insert->run();
}

Result<void> VolumeTable::put(const VolumeRow& row) {
  auto update =
      database_.prepare("UPDATE volumes SET state = ?, used_bytes = ?, files = ? WHERE id = ?");
  if (!update) return update.error();
  update->integer(static_cast<std::int64_t>(row.state));
  update->integer(static_cast<std::int64_t>(row.used_bytes));
  update->integer(static_cast<std::int64_t>(row.files)).text(row.id);
  return update->run();
}

Result<void> VolumeTable::change(const VolumeRow& row) {
  auto update = database_.prepare("UPDATE volumes SET name = ?, size_mb = ? WHERE id = ?");
  if (!update) return update.error();
  update->text(row.name).integer(row.size_mb).text(row.id);
  return update->run();
}

Result<void> VolumeTable::remove(const std::string& id) {
  auto statement = database_.prepare("DELETE FROM volumes WHERE id = ?");
  if (!statement) return statement.error();
  statement->text(id);
  return statement->run();
}

Result<std::vector<VolumeRow>> VolumeTable::all() {
  auto statement = database_.prepare(
      "SELECT id, owner, created, name, size_mb, state, used_bytes, files FROM volumes"
      " ORDER BY seq");
  if (!statement) return statement.error();
  std::vector<VolumeRow> rows;
  for (;;) {
    const auto is_there = statement->step();
    if (!is_there) return is_there.error();
    if (!*is_there) return rows;
    VolumeRow& row = rows.emplace_back();
    row.id = statement->text_at(0);
    row.owner = statement->text_at(1);
    row.created = from_microseconds(statement->integer_at(2));
    row.name = statement->text_at(3);
    row.size_mb = static_cast<std::uint32_t>(statement->integer_at(4));
    row.state = state_of(statement->integer_at(5));
    row.used_bytes = static_cast<std::uint64_t>(statement->integer_at(6));
    row.files = static_cast<std::uint64_t>(statement->integer_at(7));
  }
}

}  // namespace runtime
