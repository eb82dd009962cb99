// A fake for hosts without a Qdrant server: the part of its REST API that QdrantLessons uses, by
// the published types of version 1.19, against which tests/llm checks it. It keeps points in
// memory, and refuses what the real one refuses: fields that a request does not have, vectors of
// another size, orders without an index.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/json/reader.h"
#include "tests/unit/llm/loopback_server.h"

namespace runtime::lessons {

class FakeQdrant {
 public:
  explicit FakeQdrant(std::string api_key);

  std::string url() const { return server_.url(""); }
  // Returns requests and their answers in their order, each as one line of JSON: method, target,
  // content_type and body (where there is one), status, answer.
  std::vector<std::string> exchanges();
  std::size_t points();
  std::size_t collections();
  void drop_collections();

 private:
  struct Point {
    std::vector<double> vector;
    json::Object payload;
  };
  struct Collection {
    std::size_t size = 0;
    std::set<std::string> indexes;
    std::map<std::string, Point> points;
  };
  using Answer = std::pair<int, std::string>;  // status, the result as JSON

  void serve(llm::LoopbackServer::Peer& peer);
  Answer answer(const std::string& method, std::string target, const json::Value& body);
  Answer in_collection(Collection& collection, const std::string& call, const json::Value& body);
  Answer upsert(Collection& collection, const json::Value& body);
  Answer query(const Collection& collection, const json::Value& body) const;
  Answer scroll(const Collection& collection, const json::Value& body) const;
  Answer drop(Collection& collection, const json::Value& body);

  const std::string api_key_;
  std::mutex mutex_;
  std::vector<std::string> exchanges_;
  std::map<std::string, Collection> collections_;
  llm::LoopbackServer server_;
};

}  // namespace runtime::lessons
