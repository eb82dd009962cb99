// Makes the files of a tar archive in a directory of a sandbox, as the archive comes.
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
// links. Every name stays within the directory, and so does what a link in the archive leads to; a
// link that is there already is not followed. Files of those names are replaced, directories kept.
// What stands in front of an error is made. Not thread-safe; what it does touches names that a
// guest may change.
class TarUnpack {
 public:
  static constexpr std::size_t max_entries = 65'536;

  explicit TarUnpack(jail::Fd directory) : root_(std::move(directory)) {}

  // The next bytes; those behind the end of the archive say nothing. Errors, after which nothing
  // more is taken: invalid, which names the entry; kernel with an errno, such as ENOTDIR; exhausted
  // with ENOSPC.
  jail::Result<void> write(std::string_view bytes);
  // All of it is there. Errors: invalid where the archive ends in the middle.
  jail::Result<void> finish() const;

 private:
  using Names = std::vector<std::string>;
  enum class Content : std::uint8_t { none, file, text };
  // What blocks before a header say about the entry.
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
  // The directory of all names but the last; it is valid until the next call.
  jail::Result<int> parent_of(const Names& names);

  const jail::Fd root_;
  std::size_t entries_ = 0;
  bool is_over_ = false;
  std::size_t filled_ = 0;  // of the block
  tar::Block block_{};
  Content content_ = Content::none;
  std::uint64_t left_ = 0;     // of the content
  std::uint64_t padding_ = 0;  // behind it
  char text_type_ = 0;
  std::string text_;
  Beforehand beforehand_;
  std::optional<SandboxFiles::NewFile> file_;
  std::string parent_name_;  // the last one that was used
  jail::Fd parent_;
};

}  // namespace runtime
