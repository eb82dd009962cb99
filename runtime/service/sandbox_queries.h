// The queries for the output, usage and files of a living sandbox, and their parameters.
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
  OutputQuery output;                 // without the start
  std::optional<std::uint64_t> from;  // the position of a byte in all that was printed
  std::optional<std::uint32_t> tail;  // an alternative to `from`: the number of latest lines
  OutputEncoding encoding = OutputEncoding::utf8;
  bool follows = false;
};

// The query for the output of one process.
struct ProcessOutputQuery {
  std::uint64_t from = 0;
  OutputEncoding encoding = OutputEncoding::utf8;
};

struct UsageQuery {
  UsageHistory::Time from = UsageHistory::Time::min();
  UsageHistory::Time to = UsageHistory::Time::max();
};

struct WatchQuery {
  std::string path;  // an absolute path of a directory
  bool is_recursive = false;
};

struct FileReadQuery {
  bool is_stat = false;
  bool is_list = false;
  bool is_tar = false;
  std::optional<std::uint32_t> depth;  // of a list; nullopt: 1
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
  std::string pid;  // the process to attach to; empty: a new one is started
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

// Checks the relations between parameters.
std::optional<Refusal> check_log_query(const LogQuery& query);
std::optional<Refusal> check_file_read(const FileReadQuery& query);
std::optional<Refusal> check_terminal_query(const TerminalQuery& query);

}  // namespace runtime
