// Directories of a guest, who may change any name in them: what is in them, and what is below.
#pragma once

#include <dirent.h>

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

// Null where it cannot be read.
Directory directory_of(jail::Fd fd);

// The next name but "." and ".."; null where there is none. It is valid until the next call.
const char* next_name(DIR* directory);

// A directory in another one or further down, of the same mount and by no link; not valid where
// there is none, and errno says why.
jail::Fd open_directory(int directory, const char* path);
// The same of a regular file, for reading; what is something else is not waited for.
jail::Fd open_file(int directory, const char* path);

// The entry of `name`, which a link is itself; nothing where the directory has no such name.
std::optional<FileEntry> entry_at(int directory, const char* name, std::string path);

std::string joined(const std::string& directory, std::string_view name);

// `path` without dots and slashes that say nothing. The kernel gives up on ".." while anybody on
// the machine renames something, and a URL has them taken out in the same way (RFC 3986, 5.2.4).
std::string normal(std::string_view path);

}  // namespace runtime::below
