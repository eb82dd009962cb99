#include "c/boundary.h"
#include "c/handles.h"

namespace jail::c {
namespace {

static_assert(static_cast<int>(SkipReason::not_regular) == JAIL_SKIP_NOT_REGULAR);
static_assert(static_cast<int>(SkipReason::several_links) == JAIL_SKIP_SEVERAL_LINKS);
static_assert(static_cast<int>(SkipReason::too_large) == JAIL_SKIP_TOO_LARGE);
static_assert(static_cast<int>(SkipReason::total_too_large) == JAIL_SKIP_TOTAL_TOO_LARGE);
static_assert(static_cast<int>(SkipReason::too_many) == JAIL_SKIP_TOO_MANY);
static_assert(static_cast<int>(SkipReason::too_deep) == JAIL_SKIP_TOO_DEEP);
static_assert(static_cast<int>(SkipReason::too_many_entries) == JAIL_SKIP_TOO_MANY_ENTRIES);
static_assert(static_cast<int>(SkipReason::permission) == JAIL_SKIP_PERMISSION);
static_assert(static_cast<int>(SkipReason::unreadable) == JAIL_SKIP_UNREADABLE);

Result<CollectLimits> limits_of(const jail_collect_limits* given) {
  const Result<jail_collect_limits> read = read_struct("jail_collect_limits", given);
  if (!read) return read.error();
  CollectLimits limits;
  limits.files = or_default(read->files, limits.files);
  limits.file_bytes = or_default(read->file_bytes, limits.file_bytes);
  limits.total_bytes = or_default(read->total_bytes, limits.total_bytes);
  limits.depth = or_default(read->depth, limits.depth);
  limits.entries = or_default(read->entries, limits.entries);
  limits.comparisons = or_default(read->comparisons, limits.comparisons);
  limits.listed_skips = or_default(read->listed_skips, limits.listed_skips);
  return limits;
}

}  // namespace
}  // namespace jail::c

using jail::Result;
using jail::c::guarded;

extern "C" {

const char* jail_skip_reason_text(jail_skip_reason reason) {
  const int number = jail::c::number_of(reason);
  if (number < JAIL_SKIP_NOT_REGULAR || number > JAIL_SKIP_UNREADABLE) return "unknown";
  return to_string(static_cast<jail::SkipReason>(number)).data();  // it is a literal
}

jail_status jail_collect(int directory, const char* const* globs, const jail_collect_limits* limits,
                         jail_collection** collection, jail_error* error) {
  return guarded(__func__, {{"globs", globs}, {"collection", collection}}, error,
                 [&]() -> Result<void> {
                   if (directory < 0) return jail::invalid("directory: not a descriptor");
                   const Result<jail::CollectLimits> read = jail::c::limits_of(limits);
                   if (!read) return read.error();
                   const std::vector<std::string> named = jail::c::strings_of(globs);
                   for (const std::string& glob : named) {
                     if (auto done = jail::check_glob(glob); !done) return done;
                   }
                   *collection = new jail_collection{jail::collect(directory, named, *read)};
                   return {};
                 });
}

void jail_collection_destroy(jail_collection* collection) { delete collection; }

size_t jail_collection_files(const jail_collection* collection) {
  return collection == nullptr ? 0 : collection->collection.files.size();
}

size_t jail_collection_skipped(const jail_collection* collection) {
  return collection == nullptr ? 0 : collection->collection.skipped.size();
}

uint64_t jail_collection_skipped_total(const jail_collection* collection) {
  return collection == nullptr ? 0 : collection->collection.skipped_total;
}

jail_status jail_collection_file(const jail_collection* collection, size_t index,
                                 jail_collected_file* file, jail_error* error) {
  return guarded(__func__, {{"collection", collection}, {"file", file}}, error,
                 [&]() -> Result<void> {
                   const auto& files = collection->collection.files;
                   if (index >= files.size()) return jail::c::no_such("file", index, files.size());
                   const jail::CollectedFile& found = files[index];
                   const jail_collected_file told{sizeof told, found.path.c_str(),
                                                  found.content.data(), found.content.size()};
                   return jail::c::write_struct("jail_collected_file", told, file);
                 });
}

jail_status jail_collection_skip(const jail_collection* collection, size_t index,
                                 jail_skipped_file* skip, jail_error* error) {
  return guarded(__func__, {{"collection", collection}, {"skip", skip}}, error,
                 [&]() -> Result<void> {
                   const auto& skipped = collection->collection.skipped;
                   if (index >= skipped.size())
                     return jail::c::no_such("skip", index, skipped.size());
                   const jail::SkippedFile& found = skipped[index];
                   const jail_skipped_file told{sizeof told, found.path.c_str(),
                                                static_cast<jail_skip_reason>(found.reason), 0};
                   return jail::c::write_struct("jail_skipped_file", told, skip);
                 });
}

}  // extern "C"
