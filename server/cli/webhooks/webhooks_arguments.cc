#include "server/cli/webhooks/webhooks_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/json/writer.h"
#include "runtime/service/webhook_requests.h"
#include "server/cli/common_arguments.h"

namespace server::client {
namespace {

// As CLI11 hands them over.
struct RawWebhookArguments {
  std::string url;
  std::string id;
  std::vector<std::string> ids;
  std::vector<std::string> events;
  std::string name;
  double previous = 0;
  bool enable = false;
  bool disable = false;
  bool json = false;
};

constexpr const char* webhook_events_text = "A kind of event that is sent; may repeat";

void add_webhook_events(CLI::App& command, RawWebhookArguments& raw, const char* description) {
  command.add_option("--event", raw.events, description)
      ->type_name("KIND")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_webhook_id(CLI::App& command, RawWebhookArguments& raw) {
  command.add_option("id", raw.id, "The id of a webhook")->type_name("ID");
}

}  // namespace

struct WebhookCommands::State {
  RawWebhookArguments raw;
  CLI::App* webhook = nullptr;
  CLI::App* create = nullptr;
  CLI::App* list = nullptr;
  CLI::App* get = nullptr;
  CLI::App* change = nullptr;
  CLI::App* test = nullptr;
  CLI::App* secret = nullptr;
  CLI::App* remove = nullptr;

  void define_create();
  void define_change();
  Format format() const { return raw.json ? Format::json : Format::text; }
  Command of_new() const;
  Command of_changed() const;
  Command of_one() const;
};

void WebhookCommands::State::define_create() {
  create = webhook->add_subcommand("create", "Make one, print its id and its secret");
  create->add_option("url", raw.url, "Where events are sent")->type_name("URL");
  add_webhook_events(*create, raw, webhook_events_text);
  create->add_option("--name", raw.name, "Your word for it")->type_name("NAME");
  add_json(*create, raw.json);
  create->footer(
      "Kinds are those that sandbox events shows, such as created, paused, process_ended\n"
      "and ended. The secret is shown this once; webhook secret makes another one.");
}

void WebhookCommands::State::define_change() {
  change = webhook->add_subcommand("change", "Change one, stop it or let it go on");
  add_webhook_id(*change, raw);
  change->add_option("--url", raw.url, "Where events are sent")->type_name("URL");
  add_webhook_events(*change, raw, "A kind of event, in place of what is sent now; may repeat");
  change->add_option("--name", raw.name, "Your word for it")->type_name("NAME");
  change->add_flag("--enable", raw.enable, "Let it go on where it was stopped");
  change->add_flag("--disable", raw.disable, "Stop it; it keeps its place");
  add_json(*change, raw.json);
}

Command WebhookCommands::State::of_new() const {
  if (raw.url.empty()) return usage("webhook create: expected a URL");
  if (raw.events.empty()) return usage("webhook create: expected --event KIND, such as ended");
  return WebhooksOptions(CreateWebhookOptions{
      .url = raw.url, .events = raw.events, .name = raw.name, .format = format()});
}

Command WebhookCommands::State::of_changed() const {
  if (raw.enable && raw.disable) {
    return usage("webhook change: expected one of --enable and --disable");
  }
  ChangeWebhookOptions options;
  options.id = raw.id;
  if (change->count("--url") > 0) options.url = raw.url;
  options.events = raw.events;
  if (change->count("--name") > 0) options.name = raw.name;
  if (raw.enable || raw.disable) options.is_enabled = raw.enable;
  options.format = format();
  if (options.url || !options.events.empty() || options.name || options.is_enabled) {
    return WebhooksOptions(std::move(options));
  }
  return usage(
      "webhook change: expected what to change: --url, --event, --name, --enable or --disable");
}

Command WebhookCommands::State::of_one() const {
  const CLI::App& command = *webhook->get_subcommands().front();
  if (raw.id.empty()) {
    return usage("webhook " + command.get_name() + ": expected the ID of a webhook");
  }
  if (change->parsed()) return of_changed();
  if (get->parsed()) return WebhooksOptions(GetWebhookOptions{.id = raw.id, .format = format()});
  if (test->parsed()) return WebhooksOptions(TestWebhookOptions{.id = raw.id, .format = format()});
  WebhookSecretOptions options{.id = raw.id, .previous_seconds = {}, .format = format()};
  if (secret->count("--previous") > 0) options.previous_seconds = raw.previous;
  return WebhooksOptions(std::move(options));
}

WebhookCommands::WebhookCommands() : state_(std::make_unique<State>()) {}
WebhookCommands::~WebhookCommands() = default;

void WebhookCommands::define(CLI::App& app) {
  State& state = *state_;
  RawWebhookArguments& raw = state.raw;
  state.webhook = app.add_subcommand("webhook", "What happens in sandboxes, sent to a URL");
  state.webhook->require_subcommand(1);
  state.define_create();
  state.list = state.webhook->add_subcommand("list", "Show them, and how their deliveries go");
  add_json(*state.list, raw.json);
  state.get = state.webhook->add_subcommand("get", "Show one");
  add_webhook_id(*state.get, raw);
  add_json(*state.get, raw.json);
  state.define_change();
  state.test = state.webhook->add_subcommand("test", "Send a message of type test, say what came");
  add_webhook_id(*state.test, raw);
  add_json(*state.test, raw.json);
  state.secret = state.webhook->add_subcommand("secret", "Give one another secret, print it");
  add_webhook_id(*state.secret, raw);
  const runtime::Field& bounds =
      *runtime::find_field(runtime::webhook_secret_fields(), "previous_seconds");
  state.secret
      ->add_option("--previous", raw.previous,
                   "How long the old one signs too [1d]; 0 where it leaked")
      ->type_name("TIME")
      ->transform(number_of(bounds, {}, Unit::time));
  add_json(*state.secret, raw.json);
  state.remove = state.webhook->add_subcommand("delete", "Remove some");
  state.remove->add_option("ids", raw.ids, "Ids of webhooks")->type_name("ID");
  state.webhook->footer(
      "The operator names where webhooks may lead (SANDBOX_WEBHOOKS_ALLOW).\n"
      "AGENT_SANDBOX_URL says where the server is [http://127.0.0.1:8000], AGENT_SANDBOX_KEY is\n"
      "the key to show. The exit status is 1 where the server says no or a test is not taken,\n"
      "125: our own failure, 2: usage.");
}

std::optional<Command> WebhookCommands::parsed() const {
  const State& state = *state_;
  if (!state.webhook->parsed()) return std::nullopt;
  std::vector<std::string> texts = state.raw.events;
  texts.insert(texts.end(), {state.raw.url, state.raw.id, state.raw.name});
  if (!std::ranges::all_of(texts, runtime::json::is_utf8)) {
    return usage("webhook: expected UTF-8");
  }
  if (state.create->parsed()) return state.of_new();
  if (state.list->parsed()) return WebhooksOptions(ListWebhooksOptions{.format = state.format()});
  if (!state.remove->parsed()) return state.of_one();
  if (!are_ids(state.raw.ids)) {
    return usage("webhook delete: expected the ID of a webhook, or of several");
  }
  return WebhooksOptions(DeleteWebhooksOptions{.ids = state.raw.ids});
}

}  // namespace server::client
