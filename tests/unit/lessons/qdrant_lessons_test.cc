#include "runtime/lessons/qdrant_lessons.h"

#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "runtime/lessons/qdrant_pages.h"
#include "runtime/lessons/task_words.h"
#include "tests/time_scale.h"
#include "tests/unit/lessons/fake_qdrant.h"

namespace runtime::lessons {
namespace {

namespace asio = boost::asio;
using agent::Lesson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Texts with common words are near to each other: each word has a dimension of its own.
class WordEmbedder final : public Embedder {
 public:
  explicit WordEmbedder(std::string model = "words") : model_(std::move(model)) {}
  const std::string& model() const noexcept override { return model_; }
  asio::awaitable<jail::Result<std::vector<float>>> embed(std::string text, Cancel) override {
    std::vector<float> vector(64, 0.01F);
    for (const std::string& word : telling_words(text)) {
      vector[std::hash<std::string>{}(word) % vector.size()] += 1;
    }
    co_return vector;
  }

 private:
  const std::string model_;
};

class QdrantLessonsTest : public ::testing::Test {
 protected:
  // Written for tests/llm, which checks the requests against Qdrant's own types.
  void TearDown() override {
    const char* path = std::getenv("QDRANT_REQUESTS");
    if (path == nullptr) return;
    std::ofstream file(path, std::ios::app);
    for (const std::string& exchange : server_.exchanges()) file << exchange << "\n";
  }

  void open(QdrantOptions options = {}, std::string model = "words") {
    options.url = server_.url();
    if (options.api_key.empty()) options.api_key = "the-key";
    lessons_ = std::make_unique<QdrantLessons>(
        std::move(options), std::make_unique<WordEmbedder>(std::move(model)), client_);
  }

  template <class Value>
  static asio::awaitable<void> store(asio::awaitable<Value> awaitable,
                                     std::optional<Value>& value) {
    value.emplace(co_await std::move(awaitable));
  }
  template <class Value>
  Value get(asio::awaitable<Value> awaitable) {
    std::optional<Value> value;
    asio::co_spawn(pool_, store(std::move(awaitable), value), asio::use_future).get();
    return std::move(*value);
  }

  void learn(const std::string& task, const std::string& advice = "mind it", int second = 1,
             const std::string& owner = "me") {
    Lesson lesson;
    lesson.task = task;
    lesson.advice = advice;
    lesson.code = "print(" + std::to_string(second) + ")";
    lesson.learnt = std::chrono::system_clock::time_point(std::chrono::seconds(second));
    const auto done = get(lessons_->learn(owner, lesson, {}));
    ASSERT_TRUE(done.has_value()) << done.error().message();
  }
  std::vector<std::string> recall(const std::string& task, const std::string& owner = "me") {
    const auto found = get(lessons_->recall(owner, task, 5, {}));
    EXPECT_TRUE(found.has_value()) << found.error().message();
    std::vector<std::string> tasks;
    for (const Lesson& each : *found) tasks.push_back(each.task);
    return tasks;
  }
  // Returns all lessons of "me", from page to page.
  std::vector<std::string> paged(std::uint32_t limit) {
    std::vector<std::string> tasks;
    std::optional<std::string> cursor;
    do {
      const auto page = get(lessons_->list("me", limit, cursor));
      EXPECT_TRUE(page.has_value()) << page.error().message();
      if (!page) break;
      for (const Lesson& each : page->lessons) tasks.push_back(each.task);
      cursor = page->next_cursor;
    } while (cursor && tasks.size() < 100);
    return tasks;
  }
  std::vector<Lesson> all(const std::string& owner = "me") {
    const auto page = get(lessons_->list(owner, 100, std::nullopt));
    EXPECT_TRUE(page.has_value()) << page.error().message();
    return page->lessons;
  }

  asio::thread_pool pool_{2};
  FakeQdrant server_{"the-key"};
  llm::HttpClient client_;
  std::unique_ptr<QdrantLessons> lessons_;
};

TEST_F(QdrantLessonsTest, FromLearningToErasing) {
  open();
  EXPECT_THAT(recall("count vowels"), IsEmpty());  // there is no collection yet
  EXPECT_THAT(all(), IsEmpty());
  EXPECT_EQ(*get(lessons_->erase("me", std::nullopt)), 0u);
  learn("Count the vowels", "mind \"y\" \u00e9\n", 3);
  learn("Merge overlapping intervals");
  learn("Merge sorted lists");
  EXPECT_EQ(recall("merge intervals").front(), "Merge overlapping intervals");
  EXPECT_THAT(recall("count vowels"), ElementsAre("Count the vowels"));
  EXPECT_THAT(recall("sudoku"), IsEmpty());
  const Lesson kept = all().front();
  EXPECT_EQ(kept.advice, "mind \"y\" \u00e9\n");
  EXPECT_EQ(kept.code, "print(3)");
  EXPECT_EQ(kept.learnt.time_since_epoch(), std::chrono::seconds(3));
  EXPECT_EQ(*get(lessons_->erase("me", kept.id)), 1u);
  EXPECT_THAT(recall("count vowels"), IsEmpty());
  EXPECT_EQ(*get(lessons_->erase("me", "\"} or 1")), 0u);
  EXPECT_EQ(*get(lessons_->erase("me", std::nullopt)), 2u);
  EXPECT_EQ(server_.points(), 0u);
}

TEST_F(QdrantLessonsTest, NobodySeesThoseOfAnother) {
  open();
  learn("Count the vowels", "a", 1, "me");
  learn("Count the vowels", "a", 1, "you");
  EXPECT_EQ(server_.points(), 2u);
  EXPECT_THAT(recall("count vowels", "nobody"), IsEmpty());
  EXPECT_EQ(*get(lessons_->erase("you", all("me")[0].id)), 0u);
  EXPECT_EQ(*get(lessons_->erase("you", std::nullopt)), 1u);
  EXPECT_THAT(all("me"), SizeIs(1));
}

TEST_F(QdrantLessonsTest, TheSameIsCountedAndKeptOnce) {
  open();
  learn("Count the vowels", "mind the case", 5);
  learn("count  the VOWELS", "Mind the case", 2);
  ASSERT_THAT(all(), SizeIs(1));
  EXPECT_EQ(all()[0].seen, 2u);
  EXPECT_EQ(all()[0].learnt.time_since_epoch(), std::chrono::seconds(5));
}

TEST_F(QdrantLessonsTest, LeastSeenAndOldestGoFirst) {
  QdrantOptions options;
  options.bounds = {.kept = 4, .of_an_owner = 3};
  open(std::move(options));
  learn("one", "a", 1);
  learn("one", "a", 1);
  learn("two", "a", 2);
  learn("three", "a", 3);
  learn("four", "a", 4);
  std::set<std::string> kept;
  for (const Lesson& each : all()) kept.insert(each.task);
  EXPECT_EQ(kept, (std::set<std::string>{"one", "three", "four"}));
  for (int i = 0; i < 3; ++i) learn("other" + std::to_string(i), "a", 10 + i, "you");
  EXPECT_EQ(server_.points(), 4u);
}

TEST_F(QdrantLessonsTest, PagesAreInOrderAndComplete) {
  open();
  for (int i = 1; i <= 7; ++i) learn("task" + std::to_string(i), "a", i);
  EXPECT_THAT(paged(3), ElementsAre("task7", "task6", "task5", "task4", "task3", "task2", "task1"));
  const std::string id = all().front().id;
  const std::vector<std::string> wrongs = {"",
                                           "x",
                                           "-1",
                                           "1.",
                                           "1." + id + "x",
                                           "1.\"" + id.substr(1),
                                           "1" + id,
                                           "99999999999999999999"};
  for (const std::string& wrong : wrongs) {
    const auto page = get(lessons_->list("me", 3, wrong));
    ASSERT_FALSE(page.has_value()) << wrong;
    EXPECT_THAT(page.error().message(), HasSubstr("cursor"));
  }
}

TEST_F(QdrantLessonsTest, WhatWasLearntAtOnceIsNotLostBetweenPages) {
  open();
  learn("last", "a", 9);
  for (int i = 1; i <= 7; ++i) learn("task" + std::to_string(i), "a", 5);
  learn("first", "a", 2);
  for (const std::uint32_t limit : {1u, 2u, 3u, 8u}) {
    const auto seen = paged(limit);
    EXPECT_THAT(seen, SizeIs(9)) << limit;
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 9u) << limit;
    EXPECT_EQ(seen.front(), "last");
    EXPECT_EQ(seen.back(), "first");
  }
}

// Its id could not be excluded, so it would be returned again and again.
TEST_F(QdrantLessonsTest, APointOfSomebodyElseEndsItsTime) {
  Lesson lesson;
  lesson.learnt = std::chrono::system_clock::time_point(std::chrono::microseconds(7));
  lesson.id = std::string(36, 'a');
  EXPECT_EQ(qdrant::cursor_after(std::nullopt, {lesson}), "7." + lesson.id);
  Lesson foreign = lesson;
  foreign.id = "";
  EXPECT_EQ(qdrant::cursor_after(std::nullopt, {lesson, foreign}), "7");
  qdrant::Filter filter;
  qdrant::go_on_after(*qdrant::read_cursor("7"), filter);
  EXPECT_EQ(filter.text(), R"({"must":[{"key":"learnt","range":{"lte":6}}]})");
}

TEST_F(QdrantLessonsTest, EachModelHasItsOwnCollection) {
  open();
  learn("Count the vowels");
  open({}, "another model");
  EXPECT_THAT(recall("count vowels"), IsEmpty());
  learn("Count the vowels");
  EXPECT_EQ(server_.collections(), 2u);
}

TEST_F(QdrantLessonsTest, ACollectionThatWasDroppedIsMadeAgain) {
  open();
  learn("Count the vowels");
  server_.drop_collections();
  EXPECT_THAT(recall("count vowels"), IsEmpty());
  learn("Count the vowels");
  EXPECT_THAT(recall("count vowels"), SizeIs(1));
}

TEST_F(QdrantLessonsTest, AWrongKeyIsSaidAndNotShown) {
  QdrantOptions options;
  options.api_key = "wrong-key";
  open(std::move(options));
  const auto found = get(lessons_->recall("me", "count vowels", 3, {}));
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().message(), HasSubstr("Qdrant answered 401"));
  EXPECT_THAT(found.error().message(), HasSubstr("QDRANT_API_KEY"));
  EXPECT_THAT(found.error().message(), Not(HasSubstr("wrong-key")));
}

TEST_F(QdrantLessonsTest, WhereNobodyIs) {
  QdrantOptions options;
  options.url = "http://127.0.0.1:1";
  QdrantLessons lessons(std::move(options), std::make_unique<WordEmbedder>(), client_);
  const auto found = get(lessons.recall("me", "count vowels", 3, {}));
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().message(), HasSubstr("Qdrant"));
}

// Nobody waits for a slow server once the task was cancelled.
TEST_F(QdrantLessonsTest, ACancelEndsTheCall) {
  std::atomic<int> left{0};
  std::atomic<const Cancel*> asked = nullptr;
  llm::LoopbackServer slow([&](llm::LoopbackServer::Peer& peer) {
    peer.read_request();
    asked.load()->request();
    if (peer.left_within(std::chrono::seconds(10))) ++left;
  });
  QdrantOptions options;
  options.url = slow.url("");
  QdrantLessons lessons(std::move(options), std::make_unique<WordEmbedder>(), client_);
  const auto start = std::chrono::steady_clock::now();
  const Cancel recalling;
  asked = &recalling;
  EXPECT_FALSE(get(lessons.recall("me", "count vowels", 2, recalling)).has_value());
  const Cancel learning;
  asked = &learning;
  Lesson lesson;
  lesson.task = "count vowels";
  EXPECT_FALSE(get(lessons.learn("me", std::move(lesson), learning)).has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  for (int tries = scaled_ms(5000) / 10; tries > 0 && left < 2; --tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(left, 2) << "the connections are not closed";
}

// Points of other programs, and answers of servers that are not Qdrant.
TEST_F(QdrantLessonsTest, AnswersThatNoQdrantGives) {
  std::string points;
  for (const std::string seen : {"1e300", "-1", "4294967296"}) {
    points += (points.empty() ? "" : ",") + std::string(R"({"id":"x","payload":{"task":")") +
              std::string(100'000, 't') + R"(","learnt":9223372036854775807,"seen":)" + seen + "}}";
  }
  const std::string body = R"({"result":{"points":[)" + points + "]}}";
  llm::LoopbackServer server([&](llm::LoopbackServer::Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
              body);
  });
  QdrantOptions options;
  options.url = server.url("");
  QdrantLessons lessons(std::move(options), std::make_unique<WordEmbedder>(), client_);
  const auto found = get(lessons.recall("me", "count vowels", 2, {}));
  ASSERT_TRUE(found.has_value()) << found.error().message();
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_EQ((*found)[0].task.size(), max_task_text);
  EXPECT_GT((*found)[0].seen, 1'000'000u);
  EXPECT_GT((*found)[0].learnt, std::chrono::system_clock::now());
  EXPECT_EQ((*found)[1].seen, 0u);
}

// --- embeddings, by what goes over the wire

class EmbedderTest : public QdrantLessonsTest {
 protected:
  jail::Result<std::vector<float>> embed(Config config, const std::string& provider,
                                         const std::string& reply,
                                         const std::string& status = "200 OK") {
    llm::LoopbackServer server([&](llm::LoopbackServer::Peer& peer) {
      request_ = peer.read_request();
      peer.send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(reply.size()) +
                "\r\n\r\n" + reply);
    });
    for (ProviderConfig& each : config.providers) {
      if (each.name != provider) continue;
      each.base_url = server.url(path_);
      each.api_key = Secret("sk-1");
    }
    config.llm_provider = provider;
    auto embedder = make_embedder(config, client_);
    if (!embedder) return embedder.error();
    return get((*embedder)->embed("two words", {}));
  }

  std::string path_;  // of the base URL
  std::string request_;
};

TEST_F(EmbedderTest, OpenAi) {
  const auto vector = embed({}, "openai", R"({"data":[{"index":0,"embedding":[1,-0.5,0]}]})");
  ASSERT_TRUE(vector.has_value()) << vector.error().message();
  EXPECT_THAT(*vector, ElementsAre(1.0F, -0.5F, 0.0F));
  EXPECT_THAT(request_, HasSubstr("POST /v1/embeddings "));
  EXPECT_THAT(request_, HasSubstr("Authorization: Bearer sk-1\r\n"));
  EXPECT_THAT(request_, HasSubstr(R"({"model":"text-embedding-3-small","input":"two words"})"));
}

TEST_F(EmbedderTest, Ollama) {
  Config config;
  config.embedding_model = "mine";
  const auto vector = embed(config, "ollama", R"({"model":"mine","embeddings":[[0.25,2]]})");
  ASSERT_TRUE(vector.has_value()) << vector.error().message();
  EXPECT_THAT(*vector, ElementsAre(0.25F, 2.0F));
  EXPECT_THAT(request_, HasSubstr("POST /api/embed "));
  EXPECT_THAT(request_, HasSubstr(R"({"model":"mine","input":"two words"})"));
}

TEST_F(EmbedderTest, Google) {
  const auto vector = embed({}, "google", R"({"embedding":{"values":[0.5]}})");
  ASSERT_TRUE(vector.has_value()) << vector.error().message();
  EXPECT_THAT(*vector, ElementsAre(0.5F));
  EXPECT_THAT(request_, HasSubstr("POST /v1beta/models/gemini-embedding-001:embedContent "));
  EXPECT_THAT(request_, HasSubstr("x-goog-api-key: sk-1\r\n"));
  EXPECT_THAT(request_, HasSubstr(R"("content":{"parts":[{"text":"two words"}]})"));
}

TEST_F(EmbedderTest, GoogleWithAnotherVersionAndAModelAsItsListHasIt) {
  Config config;
  config.embedding_model = "models/mine";
  for (ProviderConfig& each : config.providers) {
    if (each.name == "google") each.api_version = "v1";
  }
  const auto vector = embed(config, "google", R"({"embedding":{"values":[0.5]}})");
  ASSERT_TRUE(vector.has_value()) << vector.error().message();
  EXPECT_THAT(request_, HasSubstr("POST /v1/models/mine:embedContent "));
  EXPECT_THAT(request_, HasSubstr(R"("model":"models/mine")"));
}

// The URL is handled as for the chats of the same providers.
TEST_F(EmbedderTest, ABaseUrlOfAProxyHasAPath) {
  path_ = "/proxy";
  EXPECT_FALSE(embed({}, "openai", "{}").has_value());
  EXPECT_THAT(request_, HasSubstr("POST /proxy/embeddings "));
  EXPECT_FALSE(embed({}, "google", "{}").has_value());
  EXPECT_THAT(request_, HasSubstr("POST /proxy/v1beta/models/gemini-embedding-001:embedContent "));
  EXPECT_FALSE(embed({}, "ollama", "{}").has_value());
  EXPECT_THAT(request_, HasSubstr("POST /proxy/api/embed "));
  path_ = "/proxy/api/";
  EXPECT_FALSE(embed({}, "ollama", "{}").has_value());
  EXPECT_THAT(request_, HasSubstr("POST /proxy/api/embed "));
  path_ = "";
  EXPECT_FALSE(embed({}, "groq", "{}").has_value());
  EXPECT_THAT(request_, HasSubstr("POST /openai/v1/embeddings "));
}

TEST_F(EmbedderTest, AKeyThatIsRepeatedIsNotShown) {
  const auto vector = embed({}, "openai", R"({"error":{"message":"Incorrect API key: sk-1."}})",
                            "401 Unauthorized");
  ASSERT_FALSE(vector.has_value());
  EXPECT_THAT(vector.error().message(), HasSubstr("Incorrect API key"));
  EXPECT_THAT(vector.error().message(), Not(HasSubstr("sk-1")));
}

TEST_F(EmbedderTest, AModelAloneMakesNobodyUsable) {
  Config config;
  for (ProviderConfig& each : config.providers) {
    if (each.name == "anthropic" || each.name == "google") each.api_key = Secret("k");
    if (each.name == "openrouter") each.model = "some/model";
  }
  const auto embedder = make_embedder(config, client_);
  ASSERT_TRUE(embedder.has_value());
  EXPECT_EQ((*embedder)->model(), "gemini-embedding-001");
}

TEST_F(EmbedderTest, WhatIsNoEmbeddingIsAnError) {
  for (const char* reply : {"{}", R"({"data":[]})", R"({"data":[{"embedding":[]}]})",
                            R"({"data":[{"embedding":["1"]}]})", "[]", "x"}) {
    EXPECT_FALSE(embed({}, "openai", reply).has_value()) << reply;
  }
}

TEST_F(EmbedderTest, WithoutAProviderThatMakesThem) {
  Config config;
  const auto none = make_embedder(config, client_);
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message(), HasSubstr("OPENAI_API_KEY"));
  for (ProviderConfig& each : config.providers) {
    if (each.name == "groq") each.api_key = Secret("k");
    if (each.name == "google") each.api_key = Secret("k");
  }
  const auto other = make_embedder(config, client_);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ((*other)->model(), "gemini-embedding-001");
}

}  // namespace
}  // namespace runtime::lessons
