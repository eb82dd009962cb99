// Archives that are made of a directory of the host and unpacked in another one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "runtime/living/tar_header.h"
#include "runtime/living/tar_tree.h"
#include "runtime/living/tar_unpack.h"

namespace runtime {
namespace {

namespace fs = std::filesystem;

class TarTest : public testing::Test {
 protected:
  TarTest() {
    std::string name = testing::TempDir() + "tar-XXXXXX";
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ / "from");
    fs::create_directories(root_ / "into");
  }
  ~TarTest() override { fs::remove_all(root_); }

  jail::Fd open(const std::string& name) const {
    return jail::Fd(::open((root_ / name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  std::string packed(std::size_t piece_bytes) const {
    TarTree tree(open("from"));
    std::string all;
    for (bool has_more = true; has_more;) {
      std::string piece;
      const auto read = tree.read(piece, piece_bytes);
      EXPECT_TRUE(read) << read.error().message();
      if (!read) break;
      has_more = *read;
      all += piece;
    }
    return all;
  }

  jail::Result<void> unpack(std::string_view bytes, std::size_t piece_bytes) const {
    TarUnpack into(open("into"));
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, piece_bytes);
      if (auto written = into.write(piece); !written) return written;
      bytes.remove_prefix(piece.size());
    }
    return into.finish();
  }

  // Returns each path with its content, or its target.
  std::map<std::string, std::string> tree(const std::string& name) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / name)) {
      std::string& content = found[fs::relative(entry.path(), root_ / name)];
      if (entry.is_symlink()) {
        content = "-> " + fs::read_symlink(entry.path()).string();
      } else if (entry.is_regular_file()) {
        std::ifstream file(entry.path());
        content.assign(std::istreambuf_iterator<char>(file), {});
      }
    }
    return found;
  }

  void write(const std::string& path, const std::string& content) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }

  void write_some() const {
    write("from/a", "content");
    write("from/d/empty", "");
    write("from/d/" + std::string(150, 'x') + "/" + std::string(200, 'y'), std::string(5000, 'z'));
    write("from/d/block", std::string(512, 'b'));
    fs::create_symlink("d/block", root_ / "from/link");
    fs::create_symlink(std::string(150, 'x') + "/" + std::string(150, 'y'), root_ / "from/long");
  }

  fs::path root_;
};

TEST_F(TarTest, WhatIsUnpackedIsWhatWasThereWhateverThePieces) {
  write_some();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{511}, std::size_t{1} << 20}) {
    const std::string archive = packed(bytes);
    EXPECT_EQ(archive.size() % tar::block_bytes, 0u);
    const auto done = unpack(archive, bytes);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(tree("into"), tree("from"));
    fs::remove_all(root_ / "into");
    fs::create_directories(root_ / "into");
  }
}

TEST_F(TarTest, AnArchiveThatIsCutAnywhereIsRefused) {
  write_some();
  const std::string archive = packed(1 << 20);
  // One block of zeros ends an archive.
  for (std::size_t size = 0; size < archive.size() - tar::block_bytes; size += 97) {
    EXPECT_FALSE(unpack(archive.substr(0, size), 1 << 20)) << size;
  }
}

TEST_F(TarTest, AFileThatBecomesShorterIsFilledUp) {
  write("from/f", std::string(300'000, 'x'));
  TarTree reader(open("from"));
  std::string archive;
  ASSERT_TRUE(reader.read(archive, 100'000));
  fs::resize_file(root_ / "from/f", 10);
  for (bool has_more = true; has_more;) {
    const auto read = reader.read(archive, 100'000);
    ASSERT_TRUE(read);
    has_more = *read;
  }
  ASSERT_TRUE(unpack(archive, 1000));
  EXPECT_EQ(fs::file_size(root_ / "into/f"), 300'000u);
}

TEST_F(TarTest, NumbersOfAnySizeAreReadAsTheyWereWritten) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{077777777777},
                                   std::uint64_t{0100000000000}, std::uint64_t{1} << 55}) {
    std::string out;
    tar::append_header(out, {.name = "n", .size = size, .modified = 1 << 30});
    tar::Block block;
    ASSERT_EQ(out.size(), block.size());
    std::copy(out.begin(), out.end(), block.begin());
    const auto header = tar::read_header(block);
    ASSERT_TRUE(header && *header);
    EXPECT_EQ((*header)->size, size);
    EXPECT_EQ((*header)->modified, 1 << 30);
  }
}

// Most changed archives fail at their checksums, so these are corrected.
TEST_F(TarTest, NoChangedArchiveLeadsOut) {
  write_some();
  write("outside/kept", "kept");
  const auto before = tree("outside");
  const std::string archive = packed(1 << 20);
  std::mt19937 random(5);  // NOLINT(cert-msc51-cpp): the same each time
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  constexpr std::string_view pieces[] = {"../",           "/", "..", "\0", "7777777", "\xff\xff",
                                         "12 path=../x\n"};
  for (int round = 0; round < 300; ++round) {
    std::string changed = archive;
    for (int change = 0; change < 3; ++change) {
      const std::size_t header = below(changed.size() / 512) * 512;
      const std::string_view piece = pieces[below(std::size(pieces))];
      const std::size_t place = header + below(512 - piece.size());
      std::copy(piece.begin(), piece.end(), changed.begin() + static_cast<std::ptrdiff_t>(place));
      if (below(2) == 0) changed[header + 156] = "0125xgLK37"[below(10)];
      unsigned sum = 8 * ' ';
      for (std::size_t i = 0; i < 512; ++i) {
        if (i < 148 || i >= 156) sum += static_cast<unsigned char>(changed[header + i]);
      }
      char text[16];
      std::snprintf(text, sizeof text, "%06o", sum);
      std::copy_n(text, 7, changed.begin() + static_cast<std::ptrdiff_t>(header + 148));
    }
    (void)unpack(changed, 700);
  }
  EXPECT_EQ(tree("outside"), before);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"from", "into", "outside"}));
}

}  // namespace
}  // namespace runtime
