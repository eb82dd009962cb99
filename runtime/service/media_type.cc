#include "runtime/service/media_type.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace runtime {
namespace {

struct Ending {
  std::string_view extension;
  std::string_view media_type;
};

constexpr std::array<Ending, 34> endings = {{
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ipynb", "application/x-ipynb+json"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"log", "text/plain"},
    {"md", "text/markdown"},
    {"mp4", "video/mp4"},
    {"parquet", "application/vnd.apache.parquet"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"py", "text/x-python"},
    {"sqlite", "application/vnd.sqlite3"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"tsv", "text/tab-separated-values"},
    {"txt", "text/plain"},
    {"wav", "audio/wav"},
    {"webp", "image/webp"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"yaml", "application/yaml"},
    {"zip", "application/zip"},
}};

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view media_type_of(std::string_view path) noexcept {
  constexpr std::string_view unknown = "application/octet-stream";
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos) return unknown;
  const std::string_view extension = path.substr(dot + 1);
  const auto found = std::find_if(endings.begin(), endings.end(), [&](const Ending& ending) {
    return std::equal(ending.extension.begin(), ending.extension.end(), extension.begin(),
                      extension.end(),
                      [](char known, char given) { return known == lower(given); });
  });
  return found == endings.end() ? unknown : found->media_type;
}

}  // namespace runtime
