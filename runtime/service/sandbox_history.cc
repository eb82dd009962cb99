#include "runtime/service/sandbox_history.h"

#include <chrono>
#include <memory>
#include <utility>

namespace runtime {
namespace {

using jail::Result;

SandboxRow row_of(const SandboxHistory::Known& sandbox) {
  SandboxRow row;
  row.id = sandbox.id;
  row.owner = sandbox.owner;
  if (sandbox.record.outcome) row.ended = StoredTime(sandbox.record.ended);
  row.record = encode_record(sandbox.record);
  return row;
}

// A caller that reads all the time must not split the combined counts into more events.
constexpr std::chrono::seconds counted_at_least{1};

void write_news(json::Writer& writer, const EgressNews& news) {
  const auto text_or_null = [&writer](std::string_view name, const std::string& text) {
    writer.key(name);
    text.empty() ? writer.null() : writer.string(text);
  };
  text_or_null("destination", news.destination);
  text_or_null("address", news.address);
  text_or_null("reason", news.reason);
  writer.key("connections").integer(static_cast<std::int64_t>(news.connections));
  if (news.kind != EgressNews::Kind::ended) return;
  writer.key("sent_bytes").integer(static_cast<std::int64_t>(news.sent));
  writer.key("received_bytes").integer(static_cast<std::int64_t>(news.received));
  writer.key("seconds").number(std::chrono::duration<double>(news.lasted).count());
}

}  // namespace

SandboxHistory::SandboxHistory(Jobs& jobs, std::uint32_t kept_events)
    : jobs_(jobs), table_(jobs.database(), kept_events) {}

SandboxHistory::~SandboxHistory() { jobs_.writer().wait_until_done(); }

Result<std::vector<SandboxHistory::Known>> SandboxHistory::load() {
  std::vector<SandboxRow> rows;
  auto done = jobs_.writer().do_now([this, &rows]() -> Result<void> {
    auto all = table_.all();
    if (!all) return all.error();
    rows = std::move(*all);
    return {};
  });
  if (!done) return done.error();
  std::vector<Known> known;
  for (const SandboxRow& row : rows) {
    auto record = decode_sandbox(row.record);
    if (record) {
      known.push_back({row.id, row.owner, std::move(*record)});
    } else {
      jobs_.writer().count_error();
      ++unreadable_;
    }
  }
  return known;
}

Result<std::vector<std::int64_t>> SandboxHistory::processes_without_end(std::string_view sandbox) {
  std::vector<std::int64_t> pids;
  auto done = jobs_.writer().do_now([this, sandbox, &pids]() -> Result<void> {
    auto found = table_.processes_without_end(sandbox);
    if (!found) return found.error();
    pids = std::move(*found);
    return {};
  });
  if (!done) return done.error();
  return pids;
}

void SandboxHistory::keep(Known sandbox) {
  {
    const std::lock_guard lock(mutex_);
    audited_.try_emplace(sandbox.id, Audited{sandbox.owner, {}});
  }
  auto row = std::make_shared<const SandboxRow>(row_of(sandbox));
  const std::size_t bytes = row->record.size();
  jobs_.writer().add([this, row = std::move(row)] { return table_.put(*row); }, bytes);
}

void SandboxHistory::forget(std::string id) {
  {
    const std::lock_guard lock(mutex_);
    audited_.erase(id);
  }
  jobs_.writer().add([this, id = std::move(id)] { return table_.remove(id); });
}

void SandboxHistory::note(std::string_view owner, std::string_view sandbox, SandboxEventKind kind,
                          const Caller* caller, const Detail& detail) {
  SandboxEvent event;
  event.sandbox = sandbox;
  event.at = std::chrono::system_clock::now();
  event.kind = name_of(kind);
  if (caller != nullptr) event.request = caller->request_id;
  json::Writer writer;
  writer.begin_object();
  if (detail) detail(writer);
  writer.end_object();
  event.detail = std::move(writer).take();
  if (!jobs_.writer().has_room(event.detail.size())) {
    jobs_.writer().count_error();
    return;
  }
  const std::size_t bytes = event.detail.size();
  jobs_.writer().add([this, owner = std::string(owner),
                      event = std::move(event)] { return table_.add_event(owner, event); },
                     bytes);
  news_.ring(owner);
}

void SandboxHistory::note_egress(const jail::EgressDecision& decision) {
  const std::lock_guard lock(mutex_);
  const auto found = audited_.find(decision.jail);
  if (found == audited_.end()) return;
  const auto now = std::chrono::steady_clock::now();
  tell(found->second.owner, found->first, found->second.egress.add(decision, now));
}

EgressUse SandboxHistory::egress_use(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = audited_.find(id);
  return found == audited_.end() ? EgressUse{} : found->second.egress.use();
}

// A reader thus misses nothing that is still being counted together.
void SandboxHistory::tell_counted(const SandboxEventQuery& query) {
  const auto until = std::chrono::steady_clock::now() - counted_at_least;
  const std::lock_guard lock(mutex_);
  for (auto& [id, audited] : audited_) {
    const bool is_meant = audited.owner == query.owner && (!query.sandbox || *query.sandbox == id);
    if (is_meant) tell(audited.owner, id, audited.egress.take(until));
  }
}

void SandboxHistory::tell(const std::string& owner, const std::string& sandbox,
                          const std::vector<EgressNews>& news) {
  for (const EgressNews& each : news) {
    note(owner, sandbox, event_kind_of(each.kind), nullptr,
         [&each](json::Writer& writer) { write_news(writer, each); });
  }
}

boost::asio::awaitable<Result<SandboxEventPage>> SandboxHistory::events(SandboxEventQuery query) {
  tell_counted(query);
  std::function<Result<SandboxEventPage>()> question = [this, query = std::move(query)] {
    return table_.events(query);
  };
  co_return co_await jobs_.writer().ask<SandboxEventPage>(std::move(question));
}

}  // namespace runtime
