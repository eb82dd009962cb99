#include "server/cli/habits.h"

#include <algorithm>

namespace server {
namespace {

struct Row {
  std::string_view command;
  std::string_view word;
  std::string_view text;
};

constexpr std::string_view ending =
    "pause stops what runs in a sandbox and keeps it, delete ends it with all that is in it";
constexpr std::string_view of_sandboxes =
    "sandbox pause stops what runs in a sandbox and keeps it, sandbox delete ends it with all that "
    "is in it, jobs cancel ends a program";
constexpr std::string_view removal =
    "sandbox rm removes a file in a sandbox, sandbox delete ends the sandbox itself";
constexpr std::string_view listing = "sandbox list shows sandboxes, jobs list what the server ran";

constexpr std::string_view program =
    "exec runs a program: exec FILE, or exec --language bash -c CODE; -t gives a terminal";

constexpr Row words[] = {
    {"", "ps", listing},
    {"", "ls", listing},
    {"", "kill", of_sandboxes},
    {"", "stop", of_sandboxes},
    {"", "rm", removal},
    {"", "delete", removal},
    {"", "remove", removal},
    {"", "start", "serve starts the server, sandbox create makes a sandbox"},
    {"", "build", "rootfs/build makes the root that programs see"},
    {"", "attach", "sandbox shell gives a shell in a sandbox"},
    {"", "ssh", "sandbox shell gives a shell in a sandbox"},
    {"", "inspect", "sandbox get shows a sandbox, jobs show a program"},
    {"", "images", "exec --template and sandbox create --template say what a program sees"},
    {"", "stats", "sandbox metrics shows what a sandbox uses"},
    {"", "top", "sandbox metrics shows what a sandbox uses, sandbox ps its processes"},
    {"", "python", program},
    {"", "python3", program},
    {"", "node", program},
    {"", "bash", program},
    {"", "sh", program},
    {"volume", "ls", "list shows them"},
    {"volume", "rm", "delete removes one, with all that is in it"},
    {"volume", "remove", "delete removes one, with all that is in it"},
    {"volume", "inspect", "get shows one"},
    {"volume", "mv", "change --name gives one another name"},
    {"volume", "rename", "change --name gives one another name"},
    {"volume", "resize", "change --size gives one another size"},
    {"volume", "update", "change --name and --size give one another name and size"},
    {"volume", "show", "get shows one"},
    {"webhook", "ls", "list shows them"},
    {"webhook", "rm", "delete removes one"},
    {"webhook", "remove", "delete removes one"},
    {"webhook", "show", "get shows one"},
    {"webhook", "update", "change changes one"},
    {"webhook", "enable", "change --enable lets one go on"},
    {"webhook", "disable", "change --disable stops one"},
    {"sandbox", "stop", ending},
    {"sandbox", "terminate", ending},
    {"sandbox", "start", "resume lets one go on that is paused, create makes another one"},
    {"sandbox", "restart", "resume lets one go on that is paused, create makes another one"},
    {"sandbox", "remove",
     "rm removes a file in a sandbox, delete ends the sandbox with all that is in it"},
    {"sandbox create", "", "--name gives it a name, --template says what its programs see"},
    {"sandbox", "rename", "the name that create --name gives it stays"},
};

constexpr std::string_view no_network =
    "--allow HOST:PORT is what it may reach, and nothing else is";
constexpr std::string_view no_image = "--template or --rootfs says what the program sees";
constexpr std::string_view exec_in_place =
    "run has a model solve a task, and a program is run by agent-sandbox exec";
constexpr std::string_view always_a_terminal = "it has a terminal always";
constexpr std::string_view shell = "sandbox shell gives a terminal, and exec passes input on";
constexpr std::string_view volume =
    "--volume NAME:PATH gives it a volume, and sandbox cp copies files into it and out of it";
constexpr std::string_view own_user = "a program has one user of its own, and no other";
constexpr std::string_view no_cores = "SANDBOX_CPU_LIMIT of the server says how many cores it has";
constexpr std::string_view port = "sandbox port prints the address of a server in it";

constexpr Row options[] = {
    {"exec", "-m", "--memory 512m limits its memory"},
    {"exec", "-v", "--file brings files in, --artifact brings them out, --jail has volumes"},
    {"exec", "--volume", "--file brings files in, --artifact brings them out, --jail has volumes"},
    {"exec", "--mount", "--file brings files in, --artifact brings them out, --jail has volumes"},
    {"exec", "--rm", "nothing of a jail stays, so that it needs none"},
    {"exec", "--image", no_image},
    {"exec", "--network", no_network},
    {"exec", "--net", no_network},
    {"exec", "--pids-limit", "--processes limits processes and threads"},
    {"exec", "--name", "sandbox create --name makes a sandbox that stays"},
    {"exec", "-d", "sandbox exec --background leaves a program running in a sandbox"},
    {"exec", "--detach", "sandbox exec --background leaves a program running in a sandbox"},
    {"exec", "-w", "a program starts in a working directory of its own, where --file brings files"},
    {"exec", "--workdir",
     "a program starts in a working directory of its own, where --file brings files"},
    {"exec", "-u", own_user},
    {"exec", "--cpus", no_cores},
    {"exec", "--cpu", no_cores},
    {"exec", "--env-file", "-e NAME=VALUE sets a variable, -e NAME passes one on"},
    {"exec", "-p", "a jail has no ports; sandbox port prints the address of one of a sandbox"},
    {"exec", "--publish",
     "a jail has no ports; sandbox port prints the address of one of a sandbox"},
    {"run", "-i", exec_in_place},
    {"run", "-t", exec_in_place},
    {"run", "-c", exec_in_place},
    {"run", "-e", exec_in_place},
    {"run", "-d", exec_in_place},
    {"run", "-m", "--memory 512m limits the memory of programs"},
    {"run", "--rm", exec_in_place},
    {"run", "--image", exec_in_place},
    {"run", "--tty", exec_in_place},
    {"run", "--interactive", exec_in_place},
    {"sandbox create", "-m", "--memory 512m limits its memory"},
    {"sandbox create", "-w", "--workdir says where processes start"},
    {"sandbox create", "-v", volume},
    {"sandbox create", "--mount", volume},
    {"sandbox create", "-u", own_user},
    {"sandbox create", "--user", own_user},
    {"sandbox create", "--cpus", "--cpu 0.5 limits it to half a processor"},
    {"sandbox create", "--env-file", "--env NAME=VALUE sets a variable, and may repeat"},
    {"sandbox create", "--rm", "it ends by itself: --timeout and --idle say when"},
    {"sandbox create", "--image", "--template says what its programs see"},
    {"sandbox create", "--network", no_network},
    {"sandbox create", "--net", no_network},
    {"sandbox create", "--pids-limit", "--processes limits processes and threads"},
    {"sandbox create", "-p", port},
    {"sandbox create", "--publish", port},
    {"sandbox create", "-d", "it stays by itself; sandbox exec runs a program in it"},
    {"sandbox create", "--detach", "it stays by itself; sandbox exec runs a program in it"},
    {"sandbox create", "-i", "sandbox shell gives a terminal in it"},
    {"sandbox create", "-t", "sandbox shell gives a terminal in it"},
    {"sandbox exec", "-u", own_user},
    {"sandbox exec", "--user", own_user},
    {"sandbox exec", "-t", shell},
    {"sandbox exec", "--tty", shell},
    {"sandbox exec", "-d", "--background leaves the command running"},
    {"sandbox exec", "--detach", "--background leaves the command running"},
    {"sandbox exec", "-w", "--workdir says where the command starts"},
    {"sandbox shell", "-i", always_a_terminal},
    {"sandbox shell", "-t", always_a_terminal},
    {"sandbox shell", "-w", "--workdir says where it starts"},
    {"sandbox list", "-a", "it shows those that have ended as well"},
    {"sandbox list", "--all", "it shows those that have ended as well"},
    {"sandbox list", "-q", "--json prints what programs read"},
    {"sandbox list", "--quiet", "--json prints what programs read"},
    {"sandbox ls", "-l", "it shows modes, sizes and times without it"},
    {"sandbox ls", "-a", "it shows all names without it"},
    {"sandbox rm", "-f", "-r removes a directory with all that is in it, and nothing is asked"},
    {"sandbox rm", "-rf", "-r removes a directory with all that is in it, and nothing is asked"},
    {"volume delete", "-f", "it removes all that is in it without asking"},
    {"volume list", "-q", "--json prints what programs read"},
    {"sandbox delete", "-f", "it ends what runs without asking"},
    {"sandbox delete", "--force", "it ends what runs without asking"},
    {"sandbox kill", "-s", "--signal says which signal is sent"},
    {"sandbox kill", "-9", "--signal KILL sends that signal"},
    {"sandbox logs", "-n", "--tail N begins with the latest N lines"},
    {"logs", "-n", "--tail N begins with the latest N lines"},
};

template <std::size_t size>
std::string found_in(const Row (&rows)[size], std::string_view command, std::string_view word) {
  const auto* const row = std::ranges::find_if(
      rows, [&](const Row& each) { return each.command == command && each.word == word; });
  return row == std::end(rows) ? std::string() : std::string(row->text);
}

// Whether a value or other short options stand behind a short one. What is a word, as -verbose, is
// neither.
bool is_short_with_more(std::string_view option) {
  if (option.size() < 3 || option[0] != '-' || option[1] == '-') return false;
  const std::string_view rest = option.substr(1);
  const bool begins_a_word = option[2] >= 'a' && option[2] <= 'z';
  return !begins_a_word || rest.find_first_not_of("itd") == rest.npos;
}

}  // namespace

std::string habit_of_option(std::string_view command, std::string_view option) {
  std::string text = found_in(options, command, option);
  if (text.empty() && is_short_with_more(option)) {
    text = found_in(options, command, option.substr(0, 2));
  }
  return text;
}

std::string habit_of_word(std::string_view command, std::string_view word) {
  return found_in(words, command, word);
}

}  // namespace server
