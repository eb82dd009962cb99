// A program of the library's own bytes as a process: executed from a sealed file, with an empty
// environment and no descriptor but those that are named here.
#pragma once

#include <string_view>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"

namespace jail {

// The process gets `socket` at 3, its own image at 4 and `others` from 5 on. A pidfd.
// Errors: exhausted, kernel.
Result<Fd> run_image(const char* name, std::string_view image, Fd socket, std::vector<Fd> others);

// Kills it and takes its status, where it is this process's child: a fork of the owner, which has a
// copy of every handle, ends nothing.
void end_process(const Fd& process);

// Takes its status if it has ended: it would stay a zombie for as long as its handle is held.
void reap_ended(const Fd& process);

}  // namespace jail
