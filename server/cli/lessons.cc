#include "server/cli/lessons.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/utc_text.h"
#include "runtime/service/caller_lessons.h"
#include "runtime/service/list_queries.h"
#include "server/api/encode_lessons.h"
#include "server/cli/agent_parts.h"
#include "server/cli/drop_privileges.h"
#include "server/cli/exit_codes.h"
#include "server/cli/plain_text.h"
#include "server/cli/state_directory.h"
#include "server/cli/write_all.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace asio = boost::asio;

constexpr std::size_t field_characters = 200;

// A future's value has a default.
template <class Value>
asio::awaitable<std::optional<Value>> optional_of(asio::awaitable<Value> work) {
  co_return co_await std::move(work);
}

template <class Value>
Value wait_for(asio::thread_pool& pool, asio::awaitable<Value> work) {
  return *asio::co_spawn(pool, optional_of(std::move(work)), asio::use_future).get();
}

std::string text_of(const agent::Lesson& lesson) {
  std::string text = plain_line(lesson.id, 80) + "  " + runtime::json::utc_text(lesson.learnt) +
                     "  seen " + std::to_string(lesson.seen) + "\n";
  text += "  task: " + plain_line(lesson.task, field_characters) + "\n";
  if (!lesson.error.empty())
    text += "  error: " + plain_line(lesson.error, field_characters) + "\n";
  return text + "  advice: " + plain_line(lesson.advice, field_characters) + "\n";
}

int refused(const runtime::Refusal& refusal) {
  using runtime::RefusalCode;
  if (refusal.code == RefusalCode::internal_server_error) {
    return fail(exit_own_failure, "lessons cannot be reached; the line above has the reason");
  }
  const bool is_missing =
      refusal.code == RefusalCode::lessons_off || refusal.code == RefusalCode::no_such_lesson;
  return fail(is_missing ? exit_usage : exit_own_failure, refusal.detail);
}

// All pages; as JSON each is one line, as GET /lessons answers it.
int list(runtime::LessonParts parts, asio::thread_pool& pool, LessonsOptions::Format format) {
  const runtime::Field& limit = *runtime::find_field(runtime::lesson_query_fields(), "limit");
  bool is_empty = true;
  runtime::LessonQuery query{.limit = static_cast<std::uint32_t>(limit.max), .cursor = {}};
  do {
    const auto listed = wait_for(pool, runtime::list_lessons(parts, {}, query));
    if (const auto* refusal = std::get_if<runtime::Refusal>(&listed)) return refused(*refusal);
    const auto& page = std::get<agent::LessonPage>(listed);
    std::string text;
    if (format == LessonsOptions::Format::json) {
      text = json_for_standard_output(encode_lessons(page)) + "\n";
    } else {
      for (const agent::Lesson& lesson : page.lessons) text += text_of(lesson);
    }
    if (const int failed = print(text); failed != 0) return failed;
    is_empty = is_empty && page.lessons.empty();
    query.cursor = page.next_cursor;
  } while (query.cursor);
  if (is_empty && format == LessonsOptions::Format::text) fail(0, "no lesson is kept yet");
  return 0;
}

int erase(runtime::LessonParts parts, asio::thread_pool& pool, const std::string& id) {
  const auto one = id.empty() ? std::nullopt : std::optional(id);
  const auto erased = wait_for(pool, runtime::erase_lessons(parts, {}, one));
  if (const auto* refusal = std::get_if<runtime::Refusal>(&erased)) return refused(*refusal);
  return print(std::to_string(std::get<std::uint64_t>(erased)) + " erased\n");
}

}  // namespace

int lessons(const LessonsOptions& options, runtime::Environment environment) {
  take_state_directory(environment, options.user);
  runtime::ConfigSources sources;
  sources.environment = std::move(environment);
  runtime::find_default_files(sources);
  const auto config = runtime::load_config(sources);
  if (!config) return fail(exit_own_failure, config.error().message());
  if (const auto dropped = drop_privileges(options.user); !dropped) {
    return fail_to_start(dropped.error().message());
  }
  if (!config->lessons) return fail(exit_own_failure, "no lessons are kept: LESSONS is off");
  runtime::Logger logger(
      {.level = runtime::LogLevel::warning, .format = config->log_format, .write = {}});
  asio::thread_pool pool(1);
  Agent parts;
  if (const auto made = add_lessons(parts, *config, sources.environment, logger); !made) {
    return fail(exit_own_failure, made.error().message());
  }
  const runtime::LessonParts kept{parts.lessons.get(), logger};
  const int exit_code = options.action == LessonsOptions::Action::list
                            ? list(kept, pool, options.format)
                            : erase(kept, pool, options.id);
  pool.join();
  return exit_code;
}

}  // namespace server
