// What callers ask of the output, use and files of a sandbox that lives, with the parameters that
// say so.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/living/sandbox_output.h"
#include "runtime/service/query.h"
#include "runtime/service/sandbox_requests.h"
#include "runtime/service/sandbox_search.h"
#include "runtime/service/usage_history.h"

namespace runtime {

struct LogQuery {
  OutputQuery output;                 // without where it begins
  std::optional<std::uint64_t> from;  // a byte of all that was printed
  std::optional<std::uint32_t> tail;  // in its place: so many of the latest lines
  OutputEncoding encoding = OutputEncoding::utf8;
  bool follows = false;
};

// What is asked of the output of one process.
struct ProcessOutputQuery {
  std::uint64_t from = 0;
  OutputEncoding encoding = OutputEncoding::utf8;
};

struct UsageQuery {
  UsageHistory::Time from = UsageHistory::Time::min();
  UsageHistory::Time to = UsageHistory::Time::max();
};

struct WatchQuery {
  std::string path;  // of a directory, absolute
  bool is_recursive = false;
};

struct FileReadQuery {
  bool is_stat = false;
  bool is_list = false;
  bool is_tar = false;
  std::optional<std::uint32_t> depth;  // of a list; nothing: 1
};

struct FileWriteQuery {
  std::optional<std::uint32_t> mode;
};

struct FileRemoveQuery {
  bool is_recursive = false;
};

struct TerminalQuery {
  ProcessRequest process;  // without argv: the shell
  ResizeRequest size{.columns = 80, .rows = 24};
  bool has_size = false;
  std::string pid;  // of the process to attach to; empty: one is started
};

std::span<const RequestField<LogQuery>> log_query_fields() noexcept;
std::span<const RequestField<ProcessOutputQuery>> process_output_query_fields() noexcept;
std::span<const RequestField<UsageQuery>> usage_query_fields() noexcept;
std::span<const RequestField<SearchQuery>> search_query_fields() noexcept;
std::span<const RequestField<WatchQuery>> watch_query_fields() noexcept;
std::span<const RequestField<FileReadQuery>> file_read_query_fields() noexcept;
std::span<const RequestField<FileWriteQuery>> file_write_query_fields() noexcept;
std::span<const RequestField<FileRemoveQuery>> file_remove_query_fields() noexcept;
std::span<const RequestField<TerminalQuery>> terminal_query_fields() noexcept;

// What has to hold between parameters.
std::optional<Refusal> check_log_query(const LogQuery& query);
std::optional<Refusal> check_file_read(const FileReadQuery& query);
std::optional<Refusal> check_terminal_query(const TerminalQuery& query);

}  // namespace runtime
