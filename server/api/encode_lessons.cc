#include "server/api/encode_lessons.h"

#include <utility>

#include "runtime/json/utc_text.h"
#include "runtime/json/writer.h"

namespace server {

using runtime::json::Writer;

std::string encode_lessons(const runtime::agent::LessonPage& page) {
  Writer writer;
  writer.begin_object().key("lessons").begin_array();
  for (const runtime::agent::Lesson& lesson : page.lessons) {
    writer.begin_object().key("id").string(lesson.id).key("task").string(lesson.task);
    writer.key("error").string(lesson.error).key("advice").string(lesson.advice);
    writer.key("code").string(lesson.code);
    writer.key("learnt_at").string(runtime::json::utc_text(lesson.learnt));
    writer.key("seen").integer(lesson.seen).end_object();
  }
  writer.end_array().key("next_cursor");
  page.next_cursor ? writer.string(*page.next_cursor) : writer.null();
  writer.end_object();
  return std::move(writer).take();
}

std::string encode_erased(std::uint64_t count) {
  Writer writer;
  writer.begin_object().key("erased").integer(static_cast<std::int64_t>(count)).end_object();
  return std::move(writer).take();
}

}  // namespace server
