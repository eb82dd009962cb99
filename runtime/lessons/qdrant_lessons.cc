#include "runtime/lessons/qdrant_lessons.h"

#include <algorithm>
#include <utility>

#include "runtime/lessons/qdrant_pages.h"
#include "runtime/lessons/qdrant_requests.h"
#include "runtime/lessons/task_words.h"
#include "runtime/store/digest.h"
#include "runtime/store/stored_time.h"

namespace runtime::lessons {
namespace {

using agent::Lesson;
using agent::LessonPage;
using boost::asio::awaitable;
using jail::Error;
using jail::ErrorKind;
using jail::Result;
using namespace qdrant;

constexpr std::int64_t latest = 8'000'000'000'000'000;  // microseconds: in the year 2223
constexpr std::int64_t max_seen = 4'000'000'000;
constexpr std::int64_t max_points = 1'000'000'000'000;

// The same lesson of the same owner always has the same point.
std::string point_id(const std::string& owner, const Lesson& lesson) {
  const std::string digest = sha256(owner + '\0' + digest_of(lesson));
  return digest.substr(0, 8) + "-" + digest.substr(8, 4) + "-" + digest.substr(12, 4) + "-" +
         digest.substr(16, 4) + "-" + digest.substr(20, 12);
}

Lesson as_kept(const std::string& owner, Lesson lesson) {
  Lesson kept = bounded(std::move(lesson));
  if (kept.learnt.time_since_epoch().count() == 0) kept.learnt = std::chrono::system_clock::now();
  kept.seen = 1;
  kept.id = point_id(owner, kept);
  return kept;
}

std::string text_at(const json::Value& value, std::string_view path) {
  const json::Value* found = at_path(value, path);
  return found != nullptr && found->as_string() != nullptr ? *found->as_string() : std::string();
}

// Other programs may write to the collection, too, so times and counts are bounded to their types.
std::int64_t number_at(const json::Value& value, std::string_view path, std::int64_t most) {
  const json::Value* found = at_path(value, path);
  if (found == nullptr) return 0;
  if (const auto* real = found->as_double()) {
    return static_cast<std::int64_t>(std::clamp(*real, 0.0, static_cast<double>(most)));
  }
  return found->as_integer() == nullptr ? 0
                                        : std::clamp<std::int64_t>(*found->as_integer(), 0, most);
}

Lesson lesson_of(const json::Value& point) {
  Lesson lesson;
  lesson.id = text_at(point, "id");
  lesson.task = text_at(point, "payload.task");
  lesson.error = text_at(point, "payload.error");
  lesson.advice = text_at(point, "payload.advice");
  lesson.code = text_at(point, "payload.code");
  lesson.learnt = from_microseconds(number_at(point, "payload.learnt", latest));
  lesson.seen = static_cast<std::uint32_t>(number_at(point, "payload.seen", max_seen));
  return bounded(std::move(lesson));
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

std::string others_of(const std::string& owner, const std::string& id) {
  Filter filter;
  filter.must.push_back(owned_by(owner));
  filter.must_not.push_back(has_id(id));
  return filter.text();
}

std::string all_but(const std::string& id) {
  Filter filter;
  filter.must_not.push_back(has_id(id));
  return filter.text();
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

// A collection that was dropped is made again when it is next needed.
awaitable<QdrantLessons::Reply> QdrantLessons::call(std::string method, std::string path,
                                                    std::string body, Cancel cancel) {
  auto reply = co_await call_json(service_, std::move(method), base_ + path, std::move(body),
                                  std::move(cancel));
  if (reply && reply->status == 404) set_prepared(Prepared::no);
  co_return reply;
}

awaitable<Result<void>> QdrantLessons::make_collection(std::size_t dimensions, Cancel cancel) {
  const auto there = co_await call("GET", "/exists", "", cancel);
  if (!there) co_return there.error();
  const json::Value* exists = at_path(*there->value, "result.exists");
  if (exists != nullptr && exists->as_bool() != nullptr && *exists->as_bool()) {
    co_return Result<void>();
  }
  const auto made = co_await call("PUT", "", collection_body(dimensions), cancel);
  if (!made) co_return made.error();
  // 409: another server was faster.
  if (made->status == 404) co_return answered(404);
  co_return Result<void>();
}

awaitable<Result<void>> QdrantLessons::make_index(std::string field, std::string kind,
                                                  Cancel cancel) {
  const auto made = co_await call("PUT", "/index?wait=true", index_body(field, kind), cancel);
  if (!made) co_return made.error();
  if (made->status != 200) co_return answered(made->status);
  co_return Result<void>();
}

// Another server, or this one, may have done each step before. Ordering needs an index, and servers
// may require one for filters.
awaitable<Result<void>> QdrantLessons::prepare(std::size_t dimensions, Cancel cancel) {
  if (is_prepared()) co_return Result<void>();
  auto done = co_await make_collection(dimensions, cancel);
  if (done) done = co_await make_index("owner", "keyword", cancel);
  if (done) done = co_await make_index("learnt", "integer", cancel);
  if (done) done = co_await make_index("rank", "integer", cancel);
  if (done) set_prepared(Prepared::yes);
  co_return done;
}

bool QdrantLessons::is_prepared() {
  const std::lock_guard lock(mutex_);
  return prepared_ == Prepared::yes;
}

void QdrantLessons::set_prepared(Prepared prepared) {
  const std::lock_guard lock(mutex_);
  prepared_ = prepared;
}

awaitable<Result<std::vector<Lesson>>> QdrantLessons::recall(std::string owner, std::string task,
                                                             std::uint32_t limit, Cancel cancel) {
  const std::string text = bounded_text(task, max_task_text);
  if (limit == 0 || normalised(text).empty()) co_return std::vector<Lesson>();
  const auto vector = co_await embedder_->embed(text, cancel);
  if (!vector) co_return vector.error();
  Filter filter;
  filter.must.push_back(owned_by(owner));
  const auto reply =
      co_await call("POST", "/points/query",
                    query_body(*vector, filter.text(), limit, options_.min_score), cancel);
  if (!reply) co_return reply.error();
  if (reply->status == 404) co_return std::vector<Lesson>();
  auto lessons = lessons_at(*reply->value, "result.points");
  if (lessons && lessons->size() > limit) lessons->resize(limit);
  co_return lessons;
}

awaitable<Result<std::optional<Lesson>>> QdrantLessons::find(std::string id, Cancel cancel) {
  const std::vector<std::string> ids{id};
  const auto reply = co_await call("POST", "/points", ids_body("ids", ids), cancel);
  if (!reply) co_return reply.error();
  if (reply->status == 404) co_return std::optional<Lesson>();
  auto found = lessons_at(*reply->value, "result");
  if (!found) co_return found.error();
  if (found->empty()) co_return std::optional<Lesson>();
  co_return std::optional<Lesson>(std::move(found->front()));
}

awaitable<Result<void>> QdrantLessons::learn(std::string owner, Lesson lesson, Cancel cancel) {
  Lesson kept = as_kept(owner, std::move(lesson));
  auto vector = co_await embedder_->embed(kept.task, cancel);
  if (!vector) co_return vector.error();
  auto done = co_await keep(owner, kept, std::move(*vector), cancel);
  if (done) done = co_await trim_all(owner, kept.id, cancel);
  co_return done;
}

awaitable<Result<void>> QdrantLessons::trim_all(std::string owner, std::string kept,
                                                Cancel cancel) {
  auto done = co_await trim(options_.bounds.of_an_owner, others_of(owner, kept), cancel);
  if (done) done = co_await trim(options_.bounds.kept, all_but(kept), cancel);
  co_return done;
}

awaitable<Result<void>> QdrantLessons::keep(std::string owner, Lesson lesson,
                                            std::vector<float> vector, Cancel cancel) {
  auto ready = co_await prepare(vector.size(), cancel);
  if (!ready) co_return ready;
  const auto before = co_await find(lesson.id, cancel);
  if (!before) co_return before.error();
  if (*before) {
    lesson.seen = (*before)->seen + 1;
    lesson.learnt = std::max(lesson.learnt, (*before)->learnt);
    if (lesson.code.empty()) lesson.code = (*before)->code;
  }
  std::string body = upsert_body(owner, lesson, vector);
  const auto kept = co_await call("PUT", "/points?wait=true", std::move(body), cancel);
  if (!kept) co_return kept.error();
  if (kept->status != 200) co_return answered(kept->status);
  co_return Result<void>();
}

awaitable<Result<std::uint64_t>> QdrantLessons::count(std::string filter, Cancel cancel) {
  const auto reply = co_await call("POST", "/points/count", count_body(filter), cancel);
  if (!reply) co_return reply.error();
  co_return static_cast<std::uint64_t>(number_at(*reply->value, "result.count", max_points));
}

// `filter` excludes the lesson that was just learnt, which counts towards `bound`.
awaitable<Result<void>> QdrantLessons::trim(std::uint32_t bound, std::string filter,
                                            Cancel cancel) {
  const auto others = co_await count(filter, cancel);
  if (!others) co_return others.error();
  if (*others < bound) co_return Result<void>();
  const auto excess =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(*others + 1 - bound, 1000));
  const auto reply =
      co_await call("POST", "/points/scroll", scroll_body(filter, excess, "rank", "asc"), cancel);
  if (!reply) co_return reply.error();
  const auto least = lessons_at(*reply->value, "result.points");
  if (!least) co_return least.error();
  std::vector<std::string> ids;
  for (const Lesson& lesson : *least) ids.push_back(lesson.id);
  const auto dropped =
      co_await call("POST", "/points/delete?wait=true", ids_body("points", ids), cancel);
  if (!dropped) co_return dropped.error();
  co_return Result<void>();
}

awaitable<Result<LessonPage>> QdrantLessons::list(std::string owner, std::uint32_t limit,
                                                  std::optional<std::string> cursor) {
  limit = std::clamp(limit, 1u, max_listed);
  Filter filter;
  filter.must.push_back(owned_by(owner));
  const auto before = cursor ? read_cursor(*cursor) : std::nullopt;
  if (cursor && !before) {
    co_return Error{ErrorKind::invalid, "cursor: expected a next_cursor", 0, {}};
  }
  if (before) go_on_after(*before, filter);
  const auto reply = co_await call("POST", "/points/scroll",
                                   scroll_body(filter.text(), limit + 1, "learnt", "desc"));
  if (!reply) co_return reply.error();
  LessonPage page;
  if (reply->status == 404) co_return page;
  auto lessons = lessons_at(*reply->value, "result.points");
  if (!lessons) co_return lessons.error();
  page.lessons = std::move(*lessons);
  if (page.lessons.size() > limit) {
    page.lessons.resize(limit);
    page.next_cursor = cursor_after(before, page.lessons);
  }
  co_return page;
}

awaitable<Result<std::uint64_t>> QdrantLessons::erase(std::string owner,
                                                      std::optional<std::string> id) {
  if (id && !is_point_id(*id)) co_return std::uint64_t{0};
  Filter filter;
  filter.must.push_back(owned_by(owner));
  if (id) filter.must.push_back(has_id(*id));
  const auto there = co_await count(filter.text());
  if (!there || *there == 0) co_return there;
  const auto reply = co_await call("POST", "/points/delete?wait=true", with_filter(filter.text()));
  if (!reply) co_return reply.error();
  co_return *there;
}

}  // namespace runtime::lessons
