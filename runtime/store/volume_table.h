// The table of volumes: directories of the host that outlive the sandboxes which use them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jail/result.h"
#include "runtime/store/database.h"
#include "runtime/store/sandbox_table.h"

namespace runtime {

struct VolumeRow {
  // A volume whose row says `making` or `removing` belongs to nobody: its server died in between.
  enum class State : std::uint8_t { making, ready, removing };

  std::string id;  // also the name of its directory
  std::string owner;
  StoredTime created;
  std::string name;
  std::uint32_t size_mb = 0;  // the most that it may take
  State state = State::making;
  std::uint64_t used_bytes = 0;  // as counted last
  std::uint64_t files = 0;
};

// Must be used by one thread at a time. The database must outlive it and have the tables. Errors
// are Database's.
class VolumeTable {
 public:
  explicit VolumeTable(Database& database) : database_(database) {}

  jail::Result<void> add(const VolumeRow& row);
  // Replaces the state and what is used; does nothing where the volume was removed.
  jail::Result<void> put(const VolumeRow& row);
  // Replaces the name and the size; does nothing where the volume was removed.
  jail::Result<void> change(const VolumeRow& row);
  jail::Result<void> remove(const std::string& id);
  // Returns them in the order in which they were added.
  jail::Result<std::vector<VolumeRow>> all();

 private:
  Database& database_;
};

}  // namespace runtime
