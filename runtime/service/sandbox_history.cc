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

}  // namespace

SandboxHistory::SandboxHistory(Jobs& jobs, std::uint32_t kept_events)
    : jobs_(jobs), table_(jobs.database(), kept_events) {}

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
    }
  }
  return known;
}

void SandboxHistory::keep(Known sandbox) {
  auto row = std::make_shared<const SandboxRow>(row_of(sandbox));
  const std::size_t bytes = row->record.size();
  jobs_.writer().add([this, row = std::move(row)] { return table_.put(*row); }, bytes);
}

void SandboxHistory::forget(std::string id) {
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

boost::asio::awaitable<Result<SandboxEventPage>> SandboxHistory::events(SandboxEventQuery query) {
  std::function<Result<SandboxEventPage>()> question = [this, query = std::move(query)] {
    return table_.events(query);
  };
  co_return co_await jobs_.writer().ask<SandboxEventPage>(std::move(question));
}

}  // namespace runtime
