// What a fork allocates, apart from what the zygote holds.
#pragma once

namespace jail::zygote {

// Takes all free memory between the objects of the interpreter and of the C library, for good, so
// that a fork allocates from memory that nobody has used: side by side, and on pages that need not
// be copied. A fork that used the gaps would write to a page of the zygote for each of them, and to
// another one with the list of the gaps. Some hundred kilobytes of the zygote's are lost by it.
//
// Call it last, when the zygote allocates and frees no more. Not thread-safe.
void leave_no_gaps();

}  // namespace jail::zygote
