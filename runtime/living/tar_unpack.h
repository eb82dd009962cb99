// Unpacks a tar archive into a directory of a sandbox while the archive is received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"
#include "runtime/living/sandbox_files.h"
#include "runtime/living/tar_header.h"

namespace runtime {

// Takes plain archives of POSIX (ustar, pax) and GNU tar with files, directories, symbolic and hard
// links. Every name stays within the directory, and so does the target of a link in the archive; a
// link that exists already is not followed. Files of the same names are replaced, directories are
// kept. Entries before an error have been made. Not thread-safe; it touches names that a guest may
// change.
class TarUnpack {
 public:
  static constexpr std::size_t max_entries = 65'536;

  explicit TarUnpack(jail::Fd directory, SandboxFiles::Room room = {})
      : root_(std::move(directory)), room_(std::move(room)) {}

  // Takes the next bytes; those behind the end of the archive are ignored. Nothing more is taken
  // after an error. Errors: invalid, which names the entry; kernel with an errno, such as ENOTDIR;
  // exhausted with ENOSPC.
  jail::Result<void> write(std::string_view bytes);
  // Must be called after the last byte. Errors: invalid where the archive ends in the middle.
  jail::Result<void> finish() const;

 private:
  using Names = std::vector<std::string>;
  enum class Content : std::uint8_t { none, file, text };
  // The properties of an entry that blocks before its header state.
  struct Beforehand {
    std::optional<std::string> name = std::nullopt;
    std::optional<std::string> link = std::nullopt;
    std::optional<std::uint64_t> size = std::nullopt;
    std::optional<std::int64_t> modified = std::nullopt;
  };

  jail::Result<void> take_header();
  jail::Result<void> take_text(char type);
  jail::Result<void> take_pax(std::string_view records);
  jail::Result<void> take_pax_record(std::string_view key, std::string_view value);
  jail::Result<void> end_content();
  jail::Result<void> begin_entry(tar::Header header);
  jail::Result<void> make_file(const tar::Header& header, Names names);
  jail::Result<void> make_directory(const tar::Header& header, const Names& names);
  jail::Result<void> make_link(const tar::Header& header, const Names& names);
  jail::Result<void> make_hard_link(const tar::Header& header, const Names& names);
  // The directory of all names except the last one; valid until the next call.
  jail::Result<int> parent_of(const Names& names);

  const jail::Fd root_;
  const SandboxFiles::Room room_;
  std::size_t entries_ = 0;
  bool is_over_ = false;
  std::size_t filled_ = 0;  // bytes of the block
  tar::Block block_{};
  Content content_ = Content::none;
  std::uint64_t left_ = 0;     // bytes of the content
  std::uint64_t padding_ = 0;  // bytes of padding behind it
  char text_type_ = 0;
  std::string text_;
  Beforehand beforehand_;
  std::optional<SandboxFiles::NewFile> file_;
  std::string parent_name_;  // the last parent that was used
  jail::Fd parent_;
};

}  // namespace runtime
