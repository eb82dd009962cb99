// Words and options of docker and of other sandboxes that people type by habit, and what is written
// here in their place.
#pragma once

#include <string>
#include <string_view>

namespace server {

// Says what is written in place of `option` ("-m", "--rm"), which `command` ("exec", "sandbox
// create"; empty: the program itself) does not have; empty where it is no such habit. A short
// option may have its value or others behind it: -m512, -itd.
std::string habit_of_option(std::string_view command, std::string_view option);

// The same for `word`, which is no subcommand of `command`. Where one guess could end what somebody
// wants to keep, it names all that may be meant.
// An empty word is one too many behind the command.
std::string habit_of_word(std::string_view command, std::string_view word);

}  // namespace server
