#include "tests/unit/lessons/fake_qdrant.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "runtime/json/writer.h"
#include "runtime/lessons/json_calls.h"

namespace runtime::lessons {
namespace {

constexpr const char* bad = "\"bad request\"";

bool has_only(const json::Value& value, std::initializer_list<std::string_view> names) {
  const json::Object* object = value.as_object();
  return object != nullptr && std::all_of(object->begin(), object->end(), [&](const auto& member) {
           return std::find(names.begin(), names.end(), member.first) != names.end();
         });
}

double number_of(const json::Value& value) {
  if (const auto* whole = value.as_integer()) return static_cast<double>(*whole);
  return value.as_double() != nullptr ? *value.as_double() : std::nan("");
}

void write_value(json::Writer& writer, const json::Value& value) {
  if (const auto* text = value.as_string()) {
    writer.string(*text);
  } else if (const auto* whole = value.as_integer()) {
    writer.integer(*whole);
  } else {
    writer.null();
  }
}

void write_point(json::Writer& writer, const std::string& id, const json::Object& payload,
                 std::optional<double> score = std::nullopt) {
  writer.begin_object().key("id").string(id);
  if (score) writer.key("version").integer(0).key("score").number(*score);
  writer.key("payload").begin_object();
  for (const auto& [name, value] : payload) {
    writer.key(name);
    write_value(writer, value);
  }
  writer.end_object().end_object();
}

bool holds(const json::Value& condition, const std::string& id, const json::Object& payload) {
  if (const json::Value* ids = at_path(condition, "has_id")) {
    return std::any_of(ids->as_array()->begin(), ids->as_array()->end(),
                       [&](const json::Value& each) { return *each.as_string() == id; });
  }
  const auto field = payload.find(*at_path(condition, "key")->as_string());
  if (field == payload.end()) return false;
  if (const json::Value* wanted = at_path(condition, "match.value")) {
    return field->second.as_string() != nullptr &&
           *field->second.as_string() == *wanted->as_string();
  }
  const json::Value* bound = at_path(condition, "range.lte");
  return bound != nullptr && number_of(field->second) <= number_of(*bound);
}

bool passes(const json::Value& body, const std::string& id, const json::Object& payload) {
  const auto count = [&](std::string_view path) -> std::pair<std::size_t, std::size_t> {
    const json::Value* conditions = at_path(body, path);
    if (conditions == nullptr) return {0, 0};
    const json::Array& all = *conditions->as_array();
    const auto holding = std::count_if(all.begin(), all.end(),
                                       [&](const auto& each) { return holds(each, id, payload); });
    return {static_cast<std::size_t>(holding), all.size()};
  };
  const auto must = count("filter.must");
  return must.first == must.second && count("filter.must_not").first == 0;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

std::optional<std::vector<double>> vector_in(const json::Value* value) {
  if (value == nullptr || value->as_array() == nullptr) return std::nullopt;
  std::vector<double> vector;
  for (const json::Value& number : *value->as_array()) vector.push_back(number_of(number));
  return vector;
}

bool is_uuid(const json::Value* id) {
  return id != nullptr && id->as_string() != nullptr && id->as_string()->size() == 36;
}

std::string header_in(const std::string& request, const std::string& name) {
  const std::size_t begin = request.find("\r\n" + name + ": ");
  if (begin == request.npos) return "";
  const std::size_t value = begin + name.size() + 4;
  return request.substr(value, request.find("\r\n", value) - value);
}

}  // namespace

FakeQdrant::FakeQdrant(std::string api_key)
    : api_key_(std::move(api_key)),
      server_([this](llm::LoopbackServer::Peer& peer) { serve(peer); }) {}

std::vector<std::string> FakeQdrant::exchanges() {
  const std::lock_guard lock(mutex_);
  return exchanges_;
}

std::size_t FakeQdrant::points() {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto& [name, collection] : collections_) all += collection.points.size();
  return all;
}

std::size_t FakeQdrant::collections() {
  const std::lock_guard lock(mutex_);
  return collections_.size();
}

void FakeQdrant::drop_collections() {
  const std::lock_guard lock(mutex_);
  collections_.clear();
}

void FakeQdrant::serve(llm::LoopbackServer::Peer& peer) {
  for (;;) {
    const std::string request = peer.read_request();
    if (request.empty()) return;
    const std::string line = request.substr(0, request.find("\r\n"));
    const std::size_t blank = line.find(' ');
    const std::string method = line.substr(0, blank);
    const std::string target = line.substr(blank + 1, line.rfind(' ') - blank - 1);
    const std::string body = request.substr(request.find("\r\n\r\n") + 4);
    json::Writer exchange;
    exchange.begin_object().key("method").string(method).key("target").string(target);
    Answer answered{401, "\"Must provide an API key\""};
    const std::lock_guard lock(mutex_);
    const auto value = json::parse(body.empty() ? "{}" : body, "body");
    if (!body.empty()) {
      exchange.key("content_type").string(header_in(request, "Content-Type")).key("body");
      value ? exchange.json(body) : exchange.string(body);
    }
    if (header_in(request, "api-key") == api_key_) {
      answered = value ? answer(method, target, *value) : Answer{400, bad};
    }
    const std::string text =
        answered.first == 200 ? R"({"time":0.001,"status":"ok","result":)" + answered.second + "}"
                              : R"({"time":0.001,"status":{"error":)" + answered.second + "}}";
    exchange.key("status").integer(answered.first).key("answer").json(text).end_object();
    exchanges_.push_back(std::move(exchange).take());
    if (!peer.send("HTTP/1.1 " + std::to_string(answered.first) +
                   " X\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text)) {
      return;
    }
  }
}

FakeQdrant::Answer FakeQdrant::answer(const std::string& method, std::string target,
                                      const json::Value& body) {
  target = target.substr(0, target.find('?'));
  constexpr std::string_view prefix = "/collections/";
  if (!target.starts_with(prefix)) return {404, "\"no such path\""};
  target = target.substr(prefix.size());
  const std::string name = target.substr(0, target.find('/'));
  const std::string call = method + " " + target.substr(name.size());
  if (call == "GET /exists") {
    return {200, collections_.contains(name) ? R"({"exists":true})" : R"({"exists":false})"};
  }
  if (call == "PUT ") {
    const json::Value* size = at_path(body, "vectors.size");
    const json::Value* distance = at_path(body, "vectors.distance");
    if (!has_only(body, {"vectors"}) || size == nullptr || size->as_integer() == nullptr ||
        distance == nullptr || *distance->as_string() != "Cosine") {
      return {400, bad};
    }
    if (collections_.contains(name)) return {409, "\"it exists\""};
    collections_[name].size = static_cast<std::size_t>(*size->as_integer());
    return {200, "true"};
  }
  const auto found = collections_.find(name);
  if (found == collections_.end()) return {404, "\"Not found: Collection\""};
  return in_collection(found->second, call, body);
}

FakeQdrant::Answer FakeQdrant::in_collection(Collection& collection, const std::string& call,
                                             const json::Value& body) {
  if (call == "PUT /index") {
    const json::Value* field = at_path(body, "field_name");
    if (!has_only(body, {"field_name", "field_schema"}) || field == nullptr) return {400, bad};
    collection.indexes.insert(*field->as_string());
    return {200, R"({"status":"completed"})"};
  }
  if (call == "PUT /points") return upsert(collection, body);
  if (call == "POST /points/query") return query(collection, body);
  if (call == "POST /points/scroll") return scroll(collection, body);
  if (call == "POST /points/delete") return drop(collection, body);
  if (call == "POST /points/count") {
    if (!has_only(body, {"filter", "exact"})) return {400, bad};
    std::size_t count = 0;
    for (const auto& [id, point] : collection.points) count += passes(body, id, point.payload);
    return {200, "{\"count\":" + std::to_string(count) + "}"};
  }
  if (call == "POST /points") {
    if (!has_only(body, {"ids", "with_payload"})) return {400, bad};
    json::Writer writer;
    writer.begin_array();
    for (const json::Value& id : *at_path(body, "ids")->as_array()) {
      const auto point = collection.points.find(*id.as_string());
      if (point != collection.points.end())
        write_point(writer, point->first, point->second.payload);
    }
    writer.end_array();
    return {200, std::move(writer).take()};
  }
  return {404, "\"no such path\""};
}

FakeQdrant::Answer FakeQdrant::upsert(Collection& collection, const json::Value& body) {
  if (!has_only(body, {"points"})) return {400, bad};
  for (const json::Value& value : *at_path(body, "points")->as_array()) {
    const auto vector = vector_in(at_path(value, "vector"));
    if (!has_only(value, {"id", "vector", "payload"}) || !is_uuid(at_path(value, "id")) ||
        !vector || vector->size() != collection.size) {
      return {400, "\"Wrong input: Vector dimension error\""};
    }
    collection.points[*at_path(value, "id")->as_string()] = {
        *vector, *at_path(value, "payload")->as_object()};
  }
  return {200, R"({"operation_id":1,"status":"completed"})"};
}

FakeQdrant::Answer FakeQdrant::query(const Collection& collection, const json::Value& body) const {
  const auto wanted = vector_in(at_path(body, "query"));
  if (!has_only(body, {"query", "filter", "limit", "with_payload", "score_threshold"}) || !wanted ||
      wanted->size() != collection.size) {
    return {400, bad};
  }
  std::vector<std::pair<double, std::string>> scores;
  for (const auto& [id, point] : collection.points) {
    const double score = cosine(*wanted, point.vector);
    if (passes(body, id, point.payload) && score >= number_of(*at_path(body, "score_threshold"))) {
      scores.emplace_back(-score, id);
    }
  }
  std::sort(scores.begin(), scores.end());
  const auto limit = static_cast<std::size_t>(*at_path(body, "limit")->as_integer());
  scores.resize(std::min(scores.size(), limit));
  json::Writer writer;
  writer.begin_object().key("points").begin_array();
  for (const auto& [score, id] : scores) {
    write_point(writer, id, collection.points.at(id).payload, -score);
  }
  writer.end_array().end_object();
  return {200, std::move(writer).take()};
}

FakeQdrant::Answer FakeQdrant::scroll(const Collection& collection, const json::Value& body) const {
  const json::Value* key = at_path(body, "order_by.key");
  if (!has_only(body, {"filter", "limit", "with_payload", "order_by"}) || key == nullptr ||
      !collection.indexes.contains(*key->as_string())) {
    return {400, "\"No range index for `order_by` key\""};
  }
  const bool descends = *at_path(body, "order_by.direction")->as_string() == "desc";
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [id, point] : collection.points) {
    if (!passes(body, id, point.payload)) continue;
    const double value = number_of(point.payload.at(*key->as_string()));
    order.emplace_back(descends ? -value : value, id);
  }
  std::sort(order.begin(), order.end());
  const auto limit = static_cast<std::size_t>(*at_path(body, "limit")->as_integer());
  order.resize(std::min(order.size(), limit));
  json::Writer writer;
  writer.begin_object().key("points").begin_array();
  for (const auto& [value, id] : order) write_point(writer, id, collection.points.at(id).payload);
  writer.end_array().key("next_page_offset").null().end_object();
  return {200, std::move(writer).take()};
}

FakeQdrant::Answer FakeQdrant::drop(Collection& collection, const json::Value& body) {
  if (const json::Value* ids = at_path(body, "points")) {
    if (!has_only(body, {"points"})) return {400, bad};
    for (const json::Value& id : *ids->as_array()) collection.points.erase(*id.as_string());
  } else {
    if (!has_only(body, {"filter"}) || at_path(body, "filter") == nullptr) return {400, bad};
    std::erase_if(collection.points, [&](const auto& entry) {
      return passes(body, entry.first, entry.second.payload);
    });
  }
  return {200, R"({"operation_id":2,"status":"completed"})"};
}

}  // namespace runtime::lessons
