#include "pool/template_host.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "parent/check_grants.h"
#include "parent/messages.h"
#include "parent/sealed_file.h"
#include "parent/small_files.h"

extern "C" const char jail_zygote_image_begin[];
extern "C" const char jail_zygote_image_end[];

namespace jail {
namespace {

std::string setup_text(const TemplateSpec& spec) {
  std::string names;
  for (const std::string& name : spec.imports) names.append(name).push_back('\0');
  wire::ZygoteSetup head{};
  head.magic = wire::plan_magic;
  head.imports = static_cast<std::uint32_t>(spec.imports.size());
  head.imports_bytes = static_cast<std::uint32_t>(names.size());
  head.warm_up_bytes = static_cast<std::uint32_t>(spec.warm_up.size() + 1);
  head.after_fork_bytes = static_cast<std::uint32_t>(spec.after_fork.size() + 1);
  head.rehearsal_bytes = static_cast<std::uint32_t>(spec.rehearsal.size() + 1);
  head.program_bytes = static_cast<std::uint32_t>(spec.jail.argv.back().size() + 1);
  switch (spec.optimizations.frozen_heap) {
    case FrozenHeap::if_large:
      head.frozen_heap = wire::frozen_if_large;
      break;
    case FrozenHeap::never:
      head.frozen_heap = wire::never_frozen;
      break;
    case FrozenHeap::always:
      head.frozen_heap = wire::always_frozen;
      break;
  }
  const auto flag = [](Optimization optimization) {
    return optimization == Optimization::on ? 1u : 0u;
  };
  head.known_pages = flag(spec.optimizations.known_pages);
  head.immortal_objects = flag(spec.optimizations.immortal_objects);
  head.fresh_memory = flag(spec.optimizations.fresh_memory);
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  text += names;
  for (const std::string* part :
       {&spec.warm_up, &spec.after_fork, &spec.rehearsal, &spec.jail.argv.back()}) {
    text.append(*part).push_back('\0');
  }
  return text;
}

// A start() may lower what a jail was made with, and never raise it.
JailSpec with_most(const TemplateSpec& spec) {
  JailSpec most = spec.jail;
  most.limits.memory_bytes = std::max(spec.max_memory_bytes, spec.jail.limits.memory_bytes);
  most.limits.cpu = std::max(spec.max_cpu, spec.jail.limits.cpu);
  return most;
}

Result<Plan> compile_jail(const TemplateSpec& spec, const HostFacts& facts) {
  const JailSpec most = with_most(spec);
  switch (spec.warmth) {
    case Warmth::forked:
      return compile_forked(most, facts, spec.optimizations.network_reuse);
    case Warmth::started:
      return compile_started(most, spec.env_at_start, facts);
    case Warmth::prepared:
      break;
  }
  return compile(most, facts);
}

}  // namespace

Result<TemplatePlans> TemplatePlans::make(const TemplateSpec& asked, const HostFacts& facts) {
  TemplatePlans plans;
  const bool forked = asked.warmth == Warmth::forked;
  TemplateSpec spec = asked;
  // Made once for the host, and in each of its jails then one mount less.
  if (forked) spec.jail.root = with_small_directories_copied(std::move(spec.jail.root));
  auto jail = compile_jail(spec, facts);
  if (!jail) return jail.error();
  if (auto granted = check_grants(spec.jail, facts.uid); !granted) return granted.error();
  auto jail_image = to_image(*jail);
  if (!jail_image) return jail_image.error();
  plans.jail = std::make_shared<const Plan>(std::move(*jail));
  plans.jail_image = std::move(*jail_image);
  if (!forked) return plans;

  auto living = compile_living_in_host(with_most(spec), facts);
  if (living) {
    auto image = to_image(*living);
    if (!image) return image.error();
    plans.living =
        std::make_shared<const SharedPlan>(SharedPlan{std::move(*living), std::move(*image)});
  } else {
    plans.living_refused = living.error();
  }
  plans.living_spec = spec.jail;
  auto host = compile_host(spec.jail, facts);
  if (!host) return host.error();
  auto host_image = to_image(*host);
  if (!host_image) return host_image.error();
  auto library =
      sealed_file("jail-zygote",
                  {jail_zygote_image_begin,
                   static_cast<std::size_t>(jail_zygote_image_end - jail_zygote_image_begin)},
                  SealedUse::execute);
  if (!library) return library.error();
  auto setup = sealed_file("jail-template", setup_text(spec), SealedUse::read);
  if (!setup) return setup.error();
  plans.host = std::make_shared<const Plan>(std::move(*host));
  plans.host_image = std::move(*host_image);
  plans.preloaded = std::move(*library);
  plans.setup = std::move(*setup);
  return plans;
}

Result<TemplateHost> TemplateHost::start(int launcher_socket, const TemplatePlans& plans) {
  auto control = socket_pair();
  auto requests = socket_pair();
  for (const auto* pair : {&control, &requests}) {
    if (!*pair) return pair->error();
  }
  auto input = make_pipe();
  auto words = make_pipe();
  for (const auto* pipe : {&input, &words}) {
    if (!*pipe) return pipe->error();
  }
  if (auto done = set_non_blocking(words->first); !done) return done.error();
  auto sent =
      send_launch_request(launcher_socket, {{wire::launch_plan, plans.host_image.get()},
                                            {wire::launch_control, control->second.get()},
                                            {wire::launch_stdin, input->first.get()},
                                            {wire::launch_stdout, words->second.get()},
                                            {wire::launch_stderr, words->second.get()},
                                            {wire::launch_serve, requests->second.get()},
                                            {wire::launch_library, plans.preloaded.get()},
                                            {wire::launch_setup, plans.setup.get()},
                                            {wire::launch_guest_plan, plans.jail_image.get()}});
  if (!sent) return sent.error();
  TemplateHost host;
  host.plans_ = &plans;
  host.control_ = std::move(control->first);
  host.socket_ = std::move(requests->first);
  host.words_ = std::move(words->first);
  host.input_ = std::move(input->second);
  return host;
}

Error TemplateHost::with_words(Error error) const {
  std::string words(4096, '\0');
  const ssize_t got = ::read(words_.get(), words.data(), words.size());
  words.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (!words.empty()) error.doing += ": " + words;
  return error;
}

Result<void> TemplateHost::advance() {
  for (;;) {
    Received received;
    switch (receive(control_.get(), received)) {
      case Reading::nothing:
        return {};
      case Reading::over:
        if (is_ready()) return {};
        return with_words({ErrorKind::closed, "start a zygote", 0, {}});
      case Reading::no_room:
        return no_room_for_descriptor();
      case Reading::got:
        break;
    }
    switch (received.message.type) {
      case wire::message_launched:
        if (received.message.error != 0) return launch_error(received.message.error);
        process_ = std::move(received.fd);
        break;
      case wire::message_ready:
        // Without its pidfd nobody would see it end; with a second one nobody would watch the
        // first.
        if (is_ready() || !received.fd.valid()) {
          return with_words(
              {ErrorKind::closed, "start a zygote: it is not ready as it says", 0, {}});
        }
        zygote_ = std::move(received.fd);
        break;
      default: {
        const wire::Message& message = received.message;
        Error error =
            step_error(message, describe_call(*plans_->host, message.phase, message.index));
        error.doing = "start a zygote: " + error.doing;
        return with_words(std::move(error));
      }
    }
  }
}

}  // namespace jail
