#include "runtime/lessons/qdrant_requests.h"

#include <algorithm>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/store/stored_time.h"

namespace runtime::lessons::qdrant {

using json::Writer;

namespace {

// Lessons that were seen more often are kept longer; among equals, those that were learnt later.
constexpr std::int64_t rank_of_seen = 10'000'000'000'000;
constexpr std::int64_t max_seen = 500;  // keeps the rank below 2^53, which all JSON readers
                                        // represent exactly

}  // namespace

std::string Filter::text() const {
  Writer writer;
  writer.begin_object();
  for (const auto& [name, conditions] :
       {std::pair("must", &must), std::pair("must_not", &must_not)}) {
    if (conditions->empty()) continue;
    writer.key(name).begin_array();
    for (const std::string& condition : *conditions) writer.json(condition);
    writer.end_array();
  }
  writer.end_object();
  return std::move(writer).take();
}

std::string owned_by(const std::string& owner) {
  Writer writer;
  writer.begin_object().key("key").string("owner").key("match").begin_object();
  writer.key("value").string(owner).end_object().end_object();
  return std::move(writer).take();
}

std::string has_id(const std::string& id) {
  Writer writer;
  writer.begin_object().key("has_id").begin_array().string(id).end_array().end_object();
  return std::move(writer).take();
}

std::string learnt_until(std::int64_t time) {
  Writer writer;
  writer.begin_object().key("key").string("learnt").key("range").begin_object();
  writer.key("lte").integer(time).end_object().end_object();
  return std::move(writer).take();
}

std::string upsert_body(const std::string& owner, const agent::Lesson& lesson,
                        const std::vector<float>& vector) {
  const std::int64_t learnt = to_microseconds(lesson.learnt);
  Writer writer;
  writer.begin_object().key("points").begin_array().begin_object();
  writer.key("id").string(lesson.id);
  writer.key("vector").begin_array();
  for (const float number : vector) writer.number(static_cast<double>(number));
  writer.end_array();
  writer.key("payload").begin_object();
  writer.key("owner").string(owner);
  writer.key("task").string(lesson.task);
  writer.key("error").string(lesson.error);
  writer.key("advice").string(lesson.advice);
  writer.key("code").string(lesson.code);
  writer.key("learnt").integer(learnt);
  writer.key("seen").integer(lesson.seen);
  writer.key("rank").integer(std::min<std::int64_t>(lesson.seen, max_seen) * rank_of_seen +
                             learnt / 1000);
  writer.end_object().end_object().end_array().end_object();
  return std::move(writer).take();
}

std::string scroll_body(const std::string& filter, std::uint32_t limit, std::string_view order,
                        std::string_view direction) {
  Writer writer;
  writer.begin_object();
  writer.key("filter").json(filter);
  writer.key("limit").integer(limit);
  writer.key("with_payload").boolean(true);
  writer.key("order_by").begin_object().key("key").string(order);
  writer.key("direction").string(direction).end_object();
  writer.end_object();
  return std::move(writer).take();
}

std::string count_body(const std::string& filter) {
  Writer writer;
  writer.begin_object().key("filter").json(filter).key("exact").boolean(true).end_object();
  return std::move(writer).take();
}

std::string with_filter(const std::string& filter) {
  Writer writer;
  writer.begin_object().key("filter").json(filter).end_object();
  return std::move(writer).take();
}

std::string collection_body(std::size_t dimensions) {
  Writer writer;
  writer.begin_object().key("vectors").begin_object();
  writer.key("size").integer(static_cast<std::int64_t>(dimensions));
  writer.key("distance").string("Cosine").end_object().end_object();
  return std::move(writer).take();
}

std::string index_body(const std::string& field, const std::string& kind) {
  Writer writer;
  writer.begin_object().key("field_name").string(field);
  writer.key("field_schema").string(kind).end_object();
  return std::move(writer).take();
}

std::string query_body(const std::vector<float>& vector, const std::string& filter,
                       std::uint32_t limit, double min_score) {
  Writer writer;
  writer.begin_object().key("query").begin_array();
  for (const float number : vector) writer.number(static_cast<double>(number));
  writer.end_array();
  writer.key("filter").json(filter);
  writer.key("limit").integer(limit);
  writer.key("with_payload").boolean(true);
  writer.key("score_threshold").number(min_score);
  writer.end_object();
  return std::move(writer).take();
}

std::string ids_body(std::string_view name, const std::vector<std::string>& ids) {
  Writer writer;
  writer.begin_object().key(name).begin_array();
  for (const std::string& id : ids) writer.string(id);
  writer.end_array();
  if (name == "ids") writer.key("with_payload").boolean(true);
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace runtime::lessons::qdrant
