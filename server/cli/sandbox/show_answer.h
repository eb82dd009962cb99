// Prints what a server answers: as text for people, or as the JSON that it is.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

#include "jail/result.h"
#include "runtime/json/members.h"
#include "server/api/query.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/table.h"

namespace server::client {

// Prints what `text` makes of the answer, or the answer as it is.
template <class Text>
int show(ServerClient& client, const jail::Result<std::string>& answer, Format format, Text text) {
  if (!answer) return refused(client, answer.error());
  if (format == Format::json) return print_json(client, *answer);
  const auto value = runtime::json::parse(*answer, "answer");
  return value ? print(client, text(*value)) : fail_unreadable();
}

// Prints all pages of a list that the server has at `path`, which ends with a parameter of its
// query: what `text` makes of them together, or as JSON each page on a line, as it is answered.
template <class Text>
int show_pages(ServerClient& client, const std::string& path, std::string_view name, Format format,
               Text text) {
  runtime::json::Array all;
  std::string cursor;
  do {
    const std::string from = cursor.empty() ? "" : "&cursor=" + percent_encoded(cursor);
    const auto answer = client.get(path + from);
    if (!answer) return refused(client, answer.error());
    const auto page = runtime::json::parse(*answer, "answer");
    const runtime::json::Array* const items = page ? array_in(*page, name) : nullptr;
    if (items == nullptr) return fail_unreadable();
    if (format == Format::json) {
      if (const int printed = print_json(client, *answer); printed != 0) return printed;
    }
    all.insert(all.end(), items->begin(), items->end());
    cursor = runtime::json::text_member(&*page, "next_cursor");
    if (items->empty()) break;
  } while (!cursor.empty());
  if (format == Format::json) return 0;
  return print(client, text(all, table_width(STDOUT_FILENO)));
}

}  // namespace server::client
