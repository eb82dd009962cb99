#include "runtime/lessons/lesson_table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "runtime/lessons/task_words.h"
#include "runtime/store/digest.h"
#include "runtime/store/stored_time.h"

namespace runtime::lessons {
namespace {

using agent::Lesson;
using jail::Result;

// "agsl" distinguishes our files from those of other programs.
constexpr std::int64_t application_id = 0x6167736c;
constexpr std::int64_t schema_version = 1;

// The index holds no texts of its own, so a text has to be erased in one place only, beside its
// words.
constexpr const char* schema = R"sql(
CREATE TABLE lessons (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  digest TEXT NOT NULL,
  task TEXT NOT NULL,
  error TEXT NOT NULL,
  advice TEXT NOT NULL,
  code TEXT NOT NULL,
  learnt INTEGER NOT NULL,
  seen INTEGER NOT NULL DEFAULT 1,
  UNIQUE (owner, digest));
CREATE INDEX lessons_by_time ON lessons (owner, learnt, id);
CREATE VIRTUAL TABLE lesson_words USING fts5(task, error, advice, content='lessons',
  content_rowid='seq', tokenize='porter unicode61 remove_diacritics 2');
CREATE TRIGGER lesson_kept AFTER INSERT ON lessons BEGIN
  INSERT INTO lesson_words(rowid, task, error, advice)
  VALUES (new.seq, new.task, new.error, new.advice);
END;
CREATE TRIGGER lesson_dropped AFTER DELETE ON lessons BEGIN
  INSERT INTO lesson_words(lesson_words, rowid, task, error, advice)
  VALUES ('delete', old.seq, old.task, old.error, old.advice);
END;
)sql";

constexpr const char* columns =
    "lessons.id, lessons.task, lessons.error, lessons.advice, lessons.code, lessons.learnt,"
    " lessons.seen";

// Words of at least this many letters also match words that begin with them.
constexpr std::size_t shortest_prefix = 5;

Lesson lesson_of(const Statement& row) {
  Lesson lesson;
  lesson.id = row.text_at(0);
  lesson.task = row.text_at(1);
  lesson.error = row.text_at(2);
  lesson.advice = row.text_at(3);
  lesson.code = row.text_at(4);
  lesson.learnt = from_microseconds(row.integer_at(5));
  lesson.seen = static_cast<std::uint32_t>(row.integer_at(6));
  return lesson;
}

// In quotation marks a word is never an operator ("NOT", "near").
std::string as_query(const std::string& word) {
  return '"' + word + (word.size() >= shortest_prefix ? "\"*" : "\"");
}

// In a long task one common word may be chance.
std::size_t enough_of(std::size_t words) { return std::min<std::size_t>(1 + words / 4, 4); }

struct Position {
  std::int64_t learnt = 0;
  std::string id;
};

std::optional<Position> position_of(std::string_view cursor) {
  Position position;
  const std::size_t dot = cursor.find('.');
  if (dot == cursor.npos || cursor.size() > 64 || dot + 1 == cursor.size()) return std::nullopt;
  const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + dot, position.learnt);
  if (error != std::errc() || end != cursor.data() + dot) return std::nullopt;
  position.id = cursor.substr(dot + 1);
  return position;
}

}  // namespace

Lesson bounded(Lesson lesson) {
  lesson.task = bounded_text(lesson.task, max_task_text);
  lesson.error = bounded_text(lesson.error, max_error_text);
  lesson.advice = bounded_text(lesson.advice, max_advice_text);
  lesson.code = bounded_text(lesson.code, max_code_text);
  return lesson;
}

std::string digest_of(const Lesson& lesson) {
  return sha256(normalised(lesson.task) + '\0' + normalised(lesson.advice));
}

Result<LessonTable> LessonTable::open(const std::string& path, LessonBounds bounds) {
  auto database = Database::open(path);
  if (!database) return database.error();
  LessonTable table(std::move(*database), bounds);
  if (auto done = table.set_up(); !done) return done.error();
  return table;
}

Result<void> LessonTable::set_up() {
  if (auto done = database_.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                                "PRAGMA secure_delete=ON; PRAGMA journal_size_limit=4194304");
      !done) {
    return done;
  }
  return database_.transaction([this] { return make_tables(); });
}

Result<void> LessonTable::make_tables() {
  const auto version = database_.make_tables({.application_id = application_id,
                                              .oldest_version = schema_version,
                                              .version = schema_version,
                                              .schema = schema});
  if (!version) return version.error();
  return {};
}

// The lessons that contain so many of the words that it is not chance.
Result<std::vector<std::int64_t>> LessonTable::those_with_enough(
    const std::string& owner, const std::vector<std::string>& words) {
  std::map<std::int64_t, std::size_t> found;
  for (const std::string& word : words) {
    // CROSS JOIN keeps SQLite from querying the index once for each lesson of the owner.
    auto statement = database_.prepare(
        "SELECT lessons.seq FROM lesson_words CROSS JOIN lessons ON lessons.seq = "
        "lesson_words.rowid"
        " WHERE lesson_words MATCH ? AND lessons.owner = ?");
    if (!statement) return statement.error();
    statement->text(as_query(word)).text(owner);
    for (;;) {
      const auto row = statement->step();
      if (!row) return row.error();
      if (!*row) break;
      ++found[statement->integer_at(0)];
    }
  }
  std::vector<std::int64_t> rows;
  for (const auto& [row, count] : found) {
    if (count >= enough_of(words.size())) rows.push_back(row);
  }
  return rows;
}

Result<std::vector<Lesson>> LessonTable::recall(const std::string& owner, const std::string& task,
                                                std::uint32_t limit) {
  std::vector<Lesson> lessons;
  const auto words = telling_words(bounded_text(task, max_task_text));
  if (words.empty() || limit == 0) return lessons;
  const auto rows = those_with_enough(owner, words);
  if (!rows) return rows.error();
  if (rows->empty()) return lessons;
  std::string query;
  for (const std::string& word : words) query += (query.empty() ? "" : " OR ") + as_query(word);
  auto statement = database_.prepare(
      "SELECT " + std::string(columns) +
      ", lessons.seq FROM lesson_words CROSS JOIN lessons ON lessons.seq = lesson_words.rowid"
      " WHERE lesson_words MATCH ? AND lessons.owner = ?"
      " ORDER BY bm25(lesson_words, 8.0, 1.0, 2.0), lessons.seen DESC, lessons.learnt DESC");
  if (!statement) return statement.error();
  statement->text(query).text(owner);
  while (lessons.size() < limit) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) break;
    if (std::binary_search(rows->begin(), rows->end(), statement->integer_at(7))) {
      lessons.push_back(lesson_of(*statement));
    }
  }
  return lessons;
}

Result<void> LessonTable::learn(const std::string& owner, Lesson lesson) {
  lesson = bounded(std::move(lesson));
  return database_.transaction([&]() -> Result<void> {
    if (auto kept = keep(owner, lesson); !kept) return kept;
    return trim(owner, digest_of(lesson));
  });
}

Result<void> LessonTable::keep(const std::string& owner, const Lesson& lesson) {
  auto statement = database_.prepare(
      "INSERT INTO lessons (id, owner, digest, task, error, advice, code, learnt)"
      " VALUES (lower(hex(randomblob(8))), ?, ?, ?, ?, ?, ?, ?)"
      " ON CONFLICT (owner, digest) DO UPDATE SET seen = min(seen + 1, 4000000000),"
      " learnt = max(learnt, excluded.learnt),"
      " code = iif(excluded.code = '', code, excluded.code)");
  if (!statement) return statement.error();
  const bool dated = lesson.learnt.time_since_epoch().count() != 0;
  statement->text(owner).text(digest_of(lesson)).text(lesson.task).text(lesson.error);
  statement->text(lesson.advice).text(lesson.code);
  statement->integer(to_microseconds(dated ? lesson.learnt : std::chrono::system_clock::now()));
  return statement->run();
}

Result<void> LessonTable::trim(const std::string& owner, const std::string& digest) {
  if (auto done = drop_beyond(bounds_.of_an_owner, owner, digest); !done) return done;
  return drop_beyond(bounds_.kept, std::nullopt, digest);
}

Result<void> LessonTable::drop_beyond(std::uint32_t bound, const std::optional<std::string>& owner,
                                      const std::string& kept_digest) {
  auto statement = database_.prepare(
      "DELETE FROM lessons WHERE seq IN (SELECT seq FROM lessons"
      " WHERE (?1 IS NULL OR owner = ?1) AND digest <> ?2 ORDER BY seen, learnt, seq"
      " LIMIT max(0, (SELECT count(*) FROM lessons WHERE ?1 IS NULL OR owner = ?1) - ?3))");
  if (!statement) return statement.error();
  owner ? statement->text(*owner) : statement->null();
  statement->text(kept_digest).integer(bound);
  return statement->run();
}

Result<agent::LessonPage> LessonTable::list(const std::string& owner, std::uint32_t limit,
                                            const std::optional<std::string>& cursor) {
  limit = std::clamp(limit, 1u, max_listed);
  auto statement =
      database_.prepare("SELECT " + std::string(columns) +
                        " FROM lessons WHERE owner = ?1 AND (?2 IS NULL OR (learnt, id) < (?2, ?3))"
                        " ORDER BY learnt DESC, id DESC LIMIT ?4");
  if (!statement) return statement.error();
  statement->text(owner);
  if (cursor) {
    const auto position = position_of(*cursor);
    if (!position) {
      return jail::Error{jail::ErrorKind::invalid, "cursor: expected a next_cursor", 0, {}};
    }
    statement->integer(position->learnt).text(position->id);
  } else {
    statement->null().null();
  }
  statement->integer(std::int64_t{limit} + 1);
  agent::LessonPage page;
  for (;;) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return page;
    if (page.lessons.size() == limit) {
      const Lesson& last = page.lessons.back();
      page.next_cursor = std::to_string(to_microseconds(last.learnt)) + "." + last.id;
      return page;
    }
    page.lessons.push_back(lesson_of(*statement));
  }
}

Result<std::uint64_t> LessonTable::erase(const std::string& owner,
                                         const std::optional<std::string>& id) {
  std::uint64_t erased = 0;
  auto done = database_.transaction([&]() -> Result<void> {
    auto statement = database_.prepare(
        "DELETE FROM lessons WHERE owner = ?1 AND (?2 IS NULL OR id = ?2) RETURNING seq");
    if (!statement) return statement.error();
    statement->text(owner);
    id ? statement->text(*id) : statement->null();
    for (;;) {
      const auto row = statement->step();
      if (!row) return row.error();
      if (!*row) break;
      ++erased;
    }
    if (erased == 0) return {};
    // The words of dropped lessons stay in older parts of the index until those are merged.
    return database_.run("INSERT INTO lesson_words(lesson_words) VALUES ('optimize')");
  });
  if (!done) return done.error();
  if (erased == 0) return erased;
  // The former content of a page is in the log until the log is restarted.
  if (done = database_.run("PRAGMA wal_checkpoint(TRUNCATE)"); !done) return done.error();
  return erased;
}

}  // namespace runtime::lessons
