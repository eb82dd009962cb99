// Lessons in a Qdrant server, found again by the meaning of their tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent/lessons.h"
#include "runtime/lessons/embedder.h"
#include "runtime/lessons/json_calls.h"
#include "runtime/lessons/lesson_table.h"

namespace runtime::lessons {

struct QdrantOptions {
  std::string url;                                   // "http://127.0.0.1:6333"
  std::string api_key;                               // empty: no key is sent
  std::string collection = "agent_sandbox_lessons";  // the model's name is appended: each model has
                                                     // a collection of its own
  LessonBounds bounds;
  double min_score = 0.35;  // the cosine similarity below which a lesson is no match
};

// Thread-safe. Both it and `client` must outlive its calls. The collection and its indexes are made
// when they are first needed. Where two callers learn the same lesson at once, one of them may not
// be counted.
class QdrantLessons final : public agent::LessonStore {
 public:
  QdrantLessons(QdrantOptions options, std::unique_ptr<Embedder> embedder, llm::HttpClient& client);

  boost::asio::awaitable<jail::Result<std::vector<agent::Lesson>>> recall(std::string owner,
                                                                          std::string task,
                                                                          std::uint32_t limit,
                                                                          Cancel cancel) override;
  boost::asio::awaitable<jail::Result<void>> learn(std::string owner, agent::Lesson lesson,
                                                   Cancel cancel) override;
  boost::asio::awaitable<jail::Result<agent::LessonPage>> list(
      std::string owner, std::uint32_t limit, std::optional<std::string> cursor) override;
  boost::asio::awaitable<jail::Result<std::uint64_t>> erase(std::string owner,
                                                            std::optional<std::string> id) override;

 private:
  using Reply = jail::Result<JsonReply>;
  enum class Prepared : std::uint8_t { no, yes };

  boost::asio::awaitable<Reply> call(std::string method, std::string path, std::string body,
                                     Cancel cancel = Cancel());
  boost::asio::awaitable<jail::Result<void>> prepare(std::size_t dimensions, Cancel cancel);
  boost::asio::awaitable<jail::Result<void>> make_collection(std::size_t dimensions, Cancel cancel);
  boost::asio::awaitable<jail::Result<void>> make_index(std::string field, std::string kind,
                                                        Cancel cancel);
  boost::asio::awaitable<jail::Result<void>> keep(std::string owner, agent::Lesson lesson,
                                                  std::vector<float> vector, Cancel cancel);
  boost::asio::awaitable<jail::Result<std::optional<agent::Lesson>>> find(std::string id,
                                                                          Cancel cancel);
  boost::asio::awaitable<jail::Result<std::uint64_t>> count(std::string filter,
                                                            Cancel cancel = Cancel());
  boost::asio::awaitable<jail::Result<void>> trim_all(std::string owner, std::string kept,
                                                      Cancel cancel);
  boost::asio::awaitable<jail::Result<void>> trim(std::uint32_t bound, std::string filter,
                                                  Cancel cancel);

  bool is_prepared();
  void set_prepared(Prepared prepared);

  const QdrantOptions options_;
  const std::unique_ptr<Embedder> embedder_;
  const JsonService service_;
  const std::string base_;  // beginning of the collection's URLs
  std::mutex mutex_;
  Prepared prepared_ = Prepared::no;
};

}  // namespace runtime::lessons
