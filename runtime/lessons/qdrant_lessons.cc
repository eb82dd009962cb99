#include "runtime/lessons/qdrant_lessons.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/lessons/task_words.h"
#include "runtime/store/digest.h"

namespace runtime::lessons {
namespace {

using agent::Lesson;
using agent::LessonPage;
using boost::asio::awaitable;
using jail::Error;
using jail::ErrorKind;
using jail::Result;
using json::Writer;

// What was seen more often is kept longer; of what was seen as often, what was learnt later.
constexpr std::int64_t rank_of_seen = 10'000'000'000'000;
constexpr std::int64_t most_seen = 500;  // with the rank below 2^53, which all readers of JSON hold

std::int64_t to_microseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

// The same lesson of the same owner always is the same point.
std::string point_id(const std::string& owner, const Lesson& lesson) {
  const std::string digest = sha256(owner + '\0' + digest_of(lesson));
  return digest.substr(0, 8) + "-" + digest.substr(8, 4) + "-" + digest.substr(12, 4) + "-" +
         digest.substr(16, 4) + "-" + digest.substr(20, 12);
}

// Only what we have given out is put into a request.
bool is_point_id(const std::string& id) {
  return id.size() == 36 && id.find_first_not_of("0123456789abcdef-") == id.npos;
}

// {"must": [...], "must_not": [...]} of conditions that are JSON already.
struct Filter {
  std::vector<std::string> must;
  std::vector<std::string> must_not;

  std::string text() const {
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
};

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

std::string learnt_before(std::int64_t time) {
  Writer writer;
  writer.begin_object().key("key").string("learnt").key("range").begin_object();
  writer.key("lt").integer(time).end_object().end_object();
  return std::move(writer).take();
}

std::string text_at(const json::Value& value, std::string_view path) {
  const json::Value* found = at_path(value, path);
  return found != nullptr && found->as_string() != nullptr ? *found->as_string() : std::string();
}

std::int64_t number_at(const json::Value& value, std::string_view path) {
  const json::Value* found = at_path(value, path);
  if (found == nullptr) return 0;
  if (const auto* real = found->as_double()) return static_cast<std::int64_t>(*real);
  return found->as_integer() != nullptr ? *found->as_integer() : 0;
}

Lesson lesson_of(const json::Value& point) {
  Lesson lesson;
  lesson.id = text_at(point, "id");
  lesson.task = text_at(point, "payload.task");
  lesson.error = text_at(point, "payload.error");
  lesson.advice = text_at(point, "payload.advice");
  lesson.code = text_at(point, "payload.code");
  lesson.learnt = std::chrono::system_clock::time_point(
      std::chrono::microseconds(number_at(point, "payload.learnt")));
  lesson.seen = static_cast<std::uint32_t>(number_at(point, "payload.seen"));
  return lesson;
}

Result<std::vector<Lesson>> lessons_at(const json::Value& answer, std::string_view path) {
  const json::Value* points = at_path(answer, path);
  if (points == nullptr || points->as_array() == nullptr) {
    return Error{ErrorKind::invalid, "Qdrant answered without points", 0, {}};
  }
  std::vector<Lesson> lessons;
  for (const json::Value& point : *points->as_array()) lessons.push_back(lesson_of(point));
  return lessons;
}

std::string upsert_body(const std::string& owner, const Lesson& lesson,
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
  writer.key("rank").integer(std::min<std::int64_t>(lesson.seen, most_seen) * rank_of_seen +
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

std::string with_filter(const std::string& filter) {
  Writer writer;
  writer.begin_object().key("filter").json(filter).end_object();
  return std::move(writer).take();
}

Error answered(int status) {
  return {ErrorKind::kernel, "Qdrant answered " + std::to_string(status), 0, {}};
}

JsonService service_for(const QdrantOptions& options, llm::HttpClient& client) {
  JsonService service;
  service.client = &client;
  service.name = "Qdrant";
  service.key_variable = "QDRANT_API_KEY";
  if (!options.api_key.empty()) service.headers.emplace_back("api-key", options.api_key);
  return service;
}

std::string base_of(const QdrantOptions& options, const std::string& model) {
  std::string url = options.url;
  while (url.ends_with('/')) url.pop_back();
  return url + "/collections/" + options.collection + "_" + sha256(model).substr(0, 12);
}

}  // namespace

QdrantLessons::QdrantLessons(QdrantOptions options, std::unique_ptr<Embedder> embedder,
                             llm::HttpClient& client)
    : options_(std::move(options)),
      embedder_(std::move(embedder)),
      service_(service_for(options_, client)),
      base_(base_of(options_, embedder_->model())) {}

// A collection that somebody dropped is made again when it is needed next.
awaitable<QdrantLessons::Reply> QdrantLessons::call(std::string method, std::string path,
                                                    std::string body) {
  auto reply = co_await call_json(service_, std::move(method), base_ + path, std::move(body));
  if (reply && reply->status == 404) {
    const std::lock_guard lock(mutex_);
    prepared_ = false;
  }
  co_return reply;
}

// Each step may have been done before, by this server or another.
awaitable<Result<void>> QdrantLessons::prepare(std::size_t dimensions) {
  {
    const std::lock_guard lock(mutex_);
    if (prepared_) co_return Result<void>();
  }
  const auto there = co_await call("GET", "/exists", "");
  if (!there) co_return there.error();
  const json::Value* exists = at_path(there->value, "result.exists");
  if (exists == nullptr || exists->as_bool() == nullptr || !*exists->as_bool()) {
    Writer writer;
    writer.begin_object().key("vectors").begin_object();
    writer.key("size").integer(static_cast<std::int64_t>(dimensions));
    writer.key("distance").string("Cosine").end_object().end_object();
    const auto made = co_await call("PUT", "", std::move(writer).take());
    if (!made) co_return made.error();
    if (made->status == 404) co_return answered(404);
  }
  // Filters and orders need an index each; the servers of others may insist on it.
  for (const auto& [field, kind] : {std::pair("owner", "keyword"), std::pair("learnt", "integer"),
                                    std::pair("rank", "integer")}) {
    Writer writer;
    writer.begin_object().key("field_name").string(field);
    writer.key("field_schema").string(kind).end_object();
    const auto made = co_await call("PUT", "/index?wait=true", std::move(writer).take());
    if (!made) co_return made.error();
    if (made->status != 200) co_return answered(made->status);
  }
  const std::lock_guard lock(mutex_);
  prepared_ = true;
  co_return Result<void>();
}

awaitable<Result<std::vector<Lesson>>> QdrantLessons::recall(std::string owner, std::string task,
                                                             std::uint32_t limit) {
  const std::string text = bounded_text(task, max_task_text);
  if (limit == 0 || normalised(text).empty()) co_return std::vector<Lesson>();
  const auto vector = co_await embedder_->embed(text);
  if (!vector) co_return vector.error();
  Filter filter;
  filter.must = {owned_by(owner)};
  Writer writer;
  writer.begin_object().key("query").begin_array();
  for (const float number : *vector) writer.number(static_cast<double>(number));
  writer.end_array();
  writer.key("filter").json(filter.text());
  writer.key("limit").integer(limit);
  writer.key("with_payload").boolean(true);
  writer.key("score_threshold").number(options_.least_score);
  writer.end_object();
  const auto reply = co_await call("POST", "/points/query", std::move(writer).take());
  if (!reply) co_return reply.error();
  if (reply->status == 404) co_return std::vector<Lesson>();
  co_return lessons_at(reply->value, "result.points");
}

awaitable<Result<std::optional<Lesson>>> QdrantLessons::find(std::string id) {
  Writer writer;
  writer.begin_object().key("ids").begin_array().string(id).end_array();
  writer.key("with_payload").boolean(true).end_object();
  const auto reply = co_await call("POST", "/points", std::move(writer).take());
  if (!reply) co_return reply.error();
  if (reply->status == 404) co_return std::optional<Lesson>();
  auto found = lessons_at(reply->value, "result");
  if (!found) co_return found.error();
  if (found->empty()) co_return std::optional<Lesson>();
  co_return std::optional<Lesson>(std::move(found->front()));
}

awaitable<Result<void>> QdrantLessons::learn(std::string owner, Lesson lesson) {
  lesson = bounded(std::move(lesson));
  if (lesson.learnt.time_since_epoch().count() == 0)
    lesson.learnt = std::chrono::system_clock::now();
  lesson.seen = 1;
  lesson.id = point_id(owner, lesson);
  const auto vector = co_await embedder_->embed(lesson.task);
  if (!vector) co_return vector.error();
  if (auto ready = co_await prepare(vector->size()); !ready) co_return ready;
  const auto before = co_await find(lesson.id);
  if (!before) co_return before.error();
  if (*before) {
    lesson.seen = (*before)->seen + 1;
    lesson.learnt = std::max(lesson.learnt, (*before)->learnt);
    if (lesson.code.empty()) lesson.code = (*before)->code;
  }
  const auto kept = co_await call("PUT", "/points?wait=true", upsert_body(owner, lesson, *vector));
  if (!kept) co_return kept.error();
  if (kept->status != 200) co_return answered(kept->status);
  Filter of_owner;
  of_owner.must = {owned_by(owner)};
  of_owner.must_not = {has_id(lesson.id)};
  if (auto done = co_await trim(options_.bounds.of_an_owner, of_owner.text()); !done)
    co_return done;
  Filter of_all;
  of_all.must_not = {has_id(lesson.id)};
  co_return co_await trim(options_.bounds.kept, of_all.text());
}

awaitable<Result<std::uint64_t>> QdrantLessons::count(std::string filter) {
  Writer writer;
  writer.begin_object().key("filter").json(filter).key("exact").boolean(true).end_object();
  const auto reply = co_await call("POST", "/points/count", std::move(writer).take());
  if (!reply) co_return reply.error();
  co_return static_cast<std::uint64_t>(number_at(reply->value, "result.count"));
}

// `filter` leaves out the one that was just learnt, which is one of `bound`.
awaitable<Result<void>> QdrantLessons::trim(std::uint32_t bound, std::string filter) {
  const auto others = co_await count(filter);
  if (!others) co_return others.error();
  if (*others < bound) co_return Result<void>();
  const auto excess =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(*others + 1 - bound, 1000));
  const auto reply =
      co_await call("POST", "/points/scroll", scroll_body(filter, excess, "rank", "asc"));
  if (!reply) co_return reply.error();
  const auto least = lessons_at(reply->value, "result.points");
  if (!least) co_return least.error();
  Writer writer;
  writer.begin_object().key("points").begin_array();
  for (const Lesson& lesson : *least) writer.string(lesson.id);
  writer.end_array().end_object();
  const auto dropped = co_await call("POST", "/points/delete?wait=true", std::move(writer).take());
  if (!dropped) co_return dropped.error();
  co_return Result<void>();
}

awaitable<Result<LessonPage>> QdrantLessons::list(std::string owner, std::uint32_t limit,
                                                  std::optional<std::string> cursor) {
  limit = std::clamp(limit, 1u, most_listed);
  Filter filter;
  filter.must = {owned_by(owner)};
  if (cursor) {
    std::int64_t before = 0;
    const char* end = cursor->data() + cursor->size();
    const auto [rest, failed] = std::from_chars(cursor->data(), end, before);
    if (failed != std::errc() || rest != end) {
      co_return Error{ErrorKind::invalid, "cursor: expected a next_cursor", 0, {}};
    }
    filter.must.push_back(learnt_before(before));
  }
  const auto reply = co_await call("POST", "/points/scroll",
                                   scroll_body(filter.text(), limit + 1, "learnt", "desc"));
  if (!reply) co_return reply.error();
  LessonPage page;
  if (reply->status == 404) co_return page;
  auto lessons = lessons_at(reply->value, "result.points");
  if (!lessons) co_return lessons.error();
  page.lessons = std::move(*lessons);
  if (page.lessons.size() > limit) {
    page.lessons.resize(limit);
    page.next_cursor = std::to_string(to_microseconds(page.lessons.back().learnt));
  }
  co_return page;
}

awaitable<Result<std::uint64_t>> QdrantLessons::erase(std::string owner,
                                                      std::optional<std::string> id) {
  if (id && !is_point_id(*id)) co_return std::uint64_t{0};
  Filter filter;
  filter.must = {owned_by(owner)};
  if (id) filter.must.push_back(has_id(*id));
  const auto there = co_await count(filter.text());
  if (!there || *there == 0) co_return there;
  const auto reply = co_await call("POST", "/points/delete?wait=true", with_filter(filter.text()));
  if (!reply) co_return reply.error();
  co_return *there;
}

}  // namespace runtime::lessons
