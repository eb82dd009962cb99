// Spares a fork the page faults of its code.
#pragma once

namespace jail::zygote {

// fork() leaves out the page tables of a mapping that nobody has written to, such as a library's
// code, and the child finds each piece of it again by a page fault. Copying an entry of the table
// costs a hundredth of that. A mapping in which one page was written to, with what it held before,
// is copied. 0 or an errno.
int copy_text_tables_at_fork();

}  // namespace jail::zygote
