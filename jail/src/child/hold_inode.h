// An inode that several jails can open, such as that of /dev/null, would carry messages between
// them: one locks it and the other one asks. While another process holds shared locks of both kinds
// on the whole inode, no guest gets an exclusive lock and every guest gets a shared one, whatever
// the others do, and F_GETLK names the lock that was there first.
#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace jail {

// Holds the inode until everyone who has `file`, opened for reading, has closed it. Returns an
// errno; EWOULDBLOCK or EAGAIN where somebody has locked the inode exclusively.
inline int hold_inode(int file) {
  if (::flock(file, LOCK_SH | LOCK_NB) != 0) return errno;
  struct flock whole {};
  whole.l_type = F_RDLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_SETLK, &whole) == 0 ? 0 : errno;
}

}  // namespace jail
