// Access to directories of a guest, who may change any name in them: their entries, and what is
// below.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jail/fd.h"
#include "jail/result.h"
#include "runtime/living/sandbox_files.h"

namespace runtime::below {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// Returns null where the directory cannot be read.
Directory directory_of(jail::Fd fd);

// Returns the next name except "." and ".."; null where there is none. It is valid until the next
// call.
const char* next_name(DIR* directory);

// Opens a directory in `directory` or further down, on the same mount and through no link. The Fd
// is not valid where there is none; errno then says why.
jail::Fd open_directory(int directory, const char* path);
// The same for a regular file, opened for reading; does not wait for other kinds of files.
jail::Fd open_file(int directory, const char* path);

// Opens the directory `name` in `directory`, which its owner, this process's user, may have shut
// himself out of: it gets those of `rights` back that it lacks, such as 0700, and keeps them. The
// very directory is changed, and nothing that its name leads to by then. The Fd is not valid where
// there is none; errno then says why: EPERM where it belongs to somebody else.
jail::Fd open_shut_directory(int directory, const char* name, mode_t rights);
// The same for a directory that is open already, perhaps without a right to read it (O_PATH).
jail::Fd open_shut_directory(const jail::Fd& directory, mode_t rights);

// Describes the entry `name`; a link is described itself. Returns std::nullopt where the directory
// has no such name.
std::optional<FileEntry> entry_at(int directory, const char* name, std::string path);

// Returns the error of a call that has just failed, by errno: exhausted where the disk or this
// process lacks room, else kernel.
jail::Error failed(const std::string& doing);

std::string joined(const std::string& directory, std::string_view name);

// Returns `path` without redundant dots and slashes. The kernel gives up on ".." while anybody on
// the machine renames something, and ".." is removed from URLs in the same way (RFC 3986, 5.2.4).
std::string normal(std::string_view path);

}  // namespace runtime::below
