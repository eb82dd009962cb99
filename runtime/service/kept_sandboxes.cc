// The records of sandboxes and the events about them.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "runtime/json/utc_text.h"
#include "runtime/service/file_url.h"
#include "runtime/service/result_json.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/service/sandboxes.h"
#include "runtime/service/volume_json.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

// The bound on each word of a command, and on their number: an event informs a reader, and is not
// for running the command again.
constexpr std::size_t max_told_bytes = 256;
constexpr std::size_t max_told_words = 16;
constexpr std::size_t max_told_path_bytes = 1024;

// What "server_ended" was called.
constexpr std::string_view code_of_older_servers = "stopping";

std::chrono::microseconds since_1970(Sandbox::Time time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
}

double seconds_of(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

void write_rules(json::Writer& writer, const SandboxNetwork& network) {
  writer.key("network").begin_array();
  for (const std::string& rule : network.network.rules) writer.string(rule);
  writer.end_array();
  write_secret_names(writer, names_of(network.secrets));
}

void write_limits(json::Writer& writer, const SandboxLimitChange& limits) {
  writer.key("limits").begin_object();
  if (limits.memory_mb) writer.key("memory_mb").integer(*limits.memory_mb);
  if (limits.processes) writer.key("processes").integer(*limits.processes);
  if (limits.disk_mb) writer.key("disk_mb").integer(*limits.disk_mb);
  if (limits.cpu_percent) writer.key("cpu").number(*limits.cpu_percent / 100.0);
  writer.end_object();
}

std::string_view reason_of_pause(std::optional<LivingSandbox::Cause> why) {
  if (!why) return "asked";
  return *why == LivingSandbox::Cause::idle ? "idle" : "lifetime";
}

}  // namespace

SandboxHistory::Known Sandbox::known() const {
  SandboxRecord record;
  record.number = number_;
  record.name = request_.name;
  record.template_name = request_.template_name;
  record.working_directory = request_.working_directory;
  record.is_on_disk = request_.is_on_disk;
  record.is_warm = request_.is_warm;
  record.volumes = request_.volumes;
  record.ports = request_.ports;
  record.network_rules = network_rules();
  record.idle = idle();
  record.created = since_1970(created_);
  record.ends_at = since_1970(ends_at());
  record.pauses_at_its_end = request_.pauses_at_its_end;
  record.resumes_on_demand = request_.resumes_on_demand;
  record.enforcement = enforcement_;
  const std::lock_guard lock(mutex_);
  record.memory_mb = limits_.memory_mb;
  record.processes = limits_.processes;
  record.disk_mb = limits_.disk_mb;
  record.cpu_percent = limits_.cpu_percent;
  record.metadata.insert(metadata_.begin(), metadata_.end());
  if (end_) {
    record.outcome = end_->outcome;
    record.ended = since_1970(end_->at);
  } else if (disk_ != nullptr && living_ != nullptr) {
    add_what_brings_it_back(record);
  }
  return {id_, owner_, std::move(record)};
}

void Sandbox::add_what_brings_it_back(SandboxRecord& record) const {
  record.disk = disk_->name();
  for (const auto& [name, value] : request_.env) record.env.push_back(name + "=" + value);
  record.access_token = access_token_.reveal();
  record.url_key = url_key_.reveal();
  for (const SecretName& secret : living_->secret_names()) {
    record.secrets.push_back(secret.destination() + " " + secret.header);
  }
  record.timeout = request_.timeout;
  const LivingSandbox::Clocks clocks = living_->clocks();
  record.ends_at = since_1970(clocks.ends_at);
  // What was no life of it by the calendar, which may have been set meanwhile.
  const Time until = clocks.paused_since.value_or(std::chrono::system_clock::now());
  record.pauses = std::chrono::duration_cast<std::chrono::milliseconds>(until - created_) -
                  (lived_before_ + clocks.lived);
  if (clocks.paused_since) record.paused_since = since_1970(*clocks.paused_since);
  record.left = clocks.left;
}

std::shared_ptr<Sandbox> Sandbox::of_record(SandboxHistory::Known known) {
  SandboxRecord& record = known.record;
  const std::shared_ptr<Sandbox> sandbox(new Sandbox());
  sandbox->id_ = std::move(known.id);
  sandbox->owner_ = std::move(known.owner);
  sandbox->number_ = record.number;
  SandboxRequest& request = sandbox->request_;
  request.name = std::move(record.name);
  request.template_name = std::move(record.template_name);
  request.working_directory = std::move(record.working_directory);
  request.memory_mb = record.memory_mb;
  request.processes = record.processes;
  request.disk_mb = record.disk_mb;
  request.cpu_percent = record.cpu_percent;
  sandbox->limits_ = limits_of(request);
  request.is_on_disk = record.is_on_disk;
  request.is_warm = record.is_warm;
  request.volumes = std::move(record.volumes);
  request.ports = std::move(record.ports);
  request.network.network.rules = std::move(record.network_rules);
  request.idle = record.idle;
  request.pauses_at_its_end = record.pauses_at_its_end;
  request.resumes_on_demand = record.resumes_on_demand;
  sandbox->metadata_.insert(record.metadata.begin(), record.metadata.end());
  sandbox->created_ = Time(record.created);
  sandbox->last_ends_at_ = Time(record.ends_at);
  sandbox->enforcement_ = record.enforcement;
  for (const std::string& variable : record.env) {
    const std::size_t equals = variable.find('=');
    request.env.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  request.timeout = record.timeout;
  sandbox->access_token_ = Secret(std::move(record.access_token));
  sandbox->url_key_ = Secret(std::move(record.url_key));
  sandbox->pauses_before_ = record.pauses;
  if (record.outcome && record.outcome->code == code_of_older_servers) {
    record.outcome->code = Sandboxes::outcome_of_a_server_that_ended().code;
  }
  if (record.outcome) sandbox->end_ = End{std::move(*record.outcome), Time(record.ended)};
  return sandbox;
}

void Sandboxes::note(const Caller& caller, const Sandbox& sandbox, SandboxEventKind kind,
                     const SandboxHistory::Detail& detail) {
  history_.note(sandbox.owner(), sandbox.id(), kind, &caller, detail);
}

void Sandboxes::note_file(const Caller& caller, const Sandbox& sandbox, SandboxEventKind kind,
                          std::string_view path, std::string_view move_to) {
  std::optional<std::uint64_t> uses;
  if (caller.principal.has_signed_url()) {
    uses = sandbox.url_uses_.tell(std::chrono::steady_clock::now());
    if (!uses) return;
  }
  note(caller, sandbox, kind, [&](json::Writer& writer) {
    writer.key("path").string(json::utf8_prefix(path, max_told_path_bytes));
    if (uses) writer.key("by").string("signed_url");
    if (uses) writer.key("uses").integer(static_cast<std::int64_t>(*uses));
    if (move_to.empty()) return;
    writer.key("move_to").string(json::utf8_prefix(move_to, max_told_path_bytes));
  });
}

void Sandboxes::note_signed(const Caller& caller, const Sandbox& sandbox, const FileGrant& grant) {
  note(caller, sandbox, SandboxEventKind::url_signed, [&](json::Writer& writer) {
    writer.key("path").string(json::utf8_prefix(grant.path, max_told_path_bytes));
    writer.key("operation").string(name_of(grant.operation));
    writer.key("expires_at").string(json::utc_text(grant.expires));
  });
}

void Sandboxes::note_created(const Caller& caller, const Sandbox& sandbox) {
  const SandboxRequest& request = sandbox.request();
  note(caller, sandbox, SandboxEventKind::created, [&](json::Writer& writer) {
    writer.key("name").string(request.name);
    writer.key("template").string(request.template_name);
    writer.key("memory_mb").integer(request.memory_mb);
    writer.key("processes").integer(request.processes);
    writer.key("disk_mb").integer(request.disk_mb);
    if (request.cpu_percent > 0) writer.key("cpu").number(request.cpu_percent / 100.0);
    writer.key("disk_kind").string(disk_kind_of(request));
    writer.key("warm").boolean(request.is_warm);
    write_rules(writer, request.network);
    if (!request.volumes.empty()) write_volume_mounts(writer, request.volumes);
  });
}

void Sandboxes::note_changed(const Caller& caller, const Sandbox& sandbox,
                             const SandboxChange& change) {
  note(caller, sandbox, SandboxEventKind::changed, [&](json::Writer& writer) {
    if (change.timeout) writer.key("timeout_seconds").number(seconds_of(*change.timeout));
    if (change.idle) {
      writer.key("idle_seconds");
      *change.idle ? writer.number(seconds_of(**change.idle)) : writer.null();
    }
    if (change.metadata) {
      writer.key("metadata").begin_array();
      for (const auto& [name, value] : *change.metadata) writer.string(name);
      writer.end_array();
    }
    if (change.network) write_rules(writer, *change.network);
    if (change.limits) write_limits(writer, *change.limits);
  });
}

void Sandboxes::note_started(const Caller& caller, const Sandbox& sandbox,
                             const LivingProcess& process) {
  const std::vector<std::string>& words = process.command().argv;
  note(caller, sandbox, SandboxEventKind::process_started, [&](json::Writer& writer) {
    writer.key("pid").integer(process.pid()).key("command").begin_array();
    for (std::size_t at = 0; at < words.size() && at < max_told_words; ++at) {
      writer.string(json::utf8_prefix(words[at], max_told_bytes));
    }
    writer.end_array().key("words").integer(static_cast<std::int64_t>(words.size()));
  });
}

void Sandboxes::note_its_end(const Sandbox& sandbox, const LivingProcess& process,
                             const jail::ExitReport& report) {
  const Outcome outcome = outcome_of_process(sandbox, process, report);
  history_.note(sandbox.owner(), sandbox.id(), SandboxEventKind::process_ended, nullptr,
                [&](json::Writer& writer) {
                  writer.key("pid").integer(process.pid()).key("outcome");
                  write_outcome(writer, outcome, sandbox_limits);
                });
}

LivingSandbox::News Sandboxes::news_of(const Found& sandbox, asio::any_io_executor executor) {
  const std::string id = sandbox->id();
  const std::string owner = sandbox->owner();
  // A restart knows whether it was paused, and what is left of its time.
  const auto keep_soon = [this, executor = std::move(executor), weak = std::weak_ptr(sandbox)] {
    asio::post(executor, [this, weak] {
      const Found changed = weak.lock();
      if (changed != nullptr && changed->disk_ != nullptr) keep_living(*changed);
    });
  };
  return {.on_end = [this, weak = std::weak_ptr(sandbox)](
                        const LivingSandbox::Ending& ending) { this->on_end(weak, ending); },
          .on_paused =
              [this, id, owner, keep_soon,
               weak = std::weak_ptr(sandbox)](std::optional<LivingSandbox::Cause> why) {
                const std::string_view reason = reason_of_pause(why);
                logger_.info("sandbox paused", {{"sandbox_id", id}, {"reason", reason}});
                history_.note(
                    owner, id, SandboxEventKind::paused, nullptr,
                    [reason](json::Writer& writer) { writer.key("reason").string(reason); });
                keep_soon();
                const Found paused = weak.lock();
                if (paused == nullptr || paused->gives_memory_back_.exchange(true)) return;
                asio::post(giving_back_, [this, weak] { give_back_memory_of(weak); });
              },
          .on_resumed =
              [this, id, owner, keep_soon] {
                logger_.info("sandbox resumed", {{"sandbox_id", id}});
                history_.note(owner, id, SandboxEventKind::resumed, nullptr);
                keep_soon();
              }};
}

asio::awaitable<jail::Result<SandboxEventPage>> Sandboxes::events(SandboxEventQuery query) {
  co_await runner_.catch_up_with_network();
  co_return co_await history_.events(std::move(query));
}

void Sandboxes::note_end(const Sandbox& sandbox, const Outcome& outcome) {
  history_.note(sandbox.owner(), sandbox.id(), SandboxEventKind::ended, nullptr,
                [&](json::Writer& writer) {
                  writer.key("outcome");
                  write_outcome(writer, outcome, sandbox_limits);
                });
}

}  // namespace runtime
