// What a guest left in its working directory.
#pragma once

#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jail_collection jail_collection;

typedef struct jail_collect_limits {
  size_t size;
  uint64_t file_bytes;    // 4 MiB
  uint64_t total_bytes;   // 8 MiB
  uint64_t comparisons;   // bytes of globs times bytes of names; 200 million
  uint32_t files;         // 64
  uint32_t depth;         // directories above a file; 32
  uint32_t entries;       // entries that are looked at; 65536
  uint32_t listed_skips;  // 256
} jail_collect_limits;

typedef enum jail_skip_reason {
  JAIL_SKIP_NOT_REGULAR = 0,
  JAIL_SKIP_SEVERAL_LINKS = 1,
  JAIL_SKIP_TOO_LARGE = 2,
  JAIL_SKIP_TOTAL_TOO_LARGE = 3,
  JAIL_SKIP_TOO_MANY = 4,
  JAIL_SKIP_TOO_DEEP = 5,
  JAIL_SKIP_TOO_MANY_ENTRIES = 6,
  JAIL_SKIP_PERMISSION = 7,
  JAIL_SKIP_UNREADABLE = 8
} jail_skip_reason;
const char* jail_skip_reason_text(jail_skip_reason reason);

// The pointers lead into the collection. `path` is relative, with the bytes that the guest chose.
typedef struct jail_collected_file {
  size_t size;
  const char* path;
  const void* content;
  size_t length;
} jail_collected_file;

typedef struct jail_skipped_file {
  size_t size;
  const char* path;
  jail_skip_reason reason;
  uint32_t reserved;
} jail_skipped_file;

// The regular files below `directory` that any of `globs` names; collect.h says what a glob is.
// Blocks while it reads. `limits` may be NULL.
jail_status jail_collect(int directory, const char* const* globs, const jail_collect_limits* limits,
                         jail_collection** collection, jail_error* error);
void jail_collection_destroy(jail_collection* collection);
size_t jail_collection_files(const jail_collection* collection);
size_t jail_collection_skipped(const jail_collection* collection);  // number of listed ones
uint64_t jail_collection_skipped_total(const jail_collection* collection);
// The file of that number, from 0. JAIL_INVALID: there are no more.
jail_status jail_collection_file(const jail_collection* collection, size_t index,
                                 jail_collected_file* file, jail_error* error);
jail_status jail_collection_skip(const jail_collection* collection, size_t index,
                                 jail_skipped_file* skip, jail_error* error);

#ifdef __cplusplus
}
#endif
