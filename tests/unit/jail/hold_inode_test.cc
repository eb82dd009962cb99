// Uses a file of the test; the escape ring looks from one jail at the locks of another one.
#include "child/hold_inode.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "jail/fd.h"

namespace jail {
namespace {

class HoldInodeTest : public testing::Test {
 protected:
  void SetUp() override {
    holder_ = Fd(::mkstemp(path_.data()));
    ASSERT_TRUE(holder_.valid());
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  Fd open() const { return Fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC)); }
  // Locks as a guest would: returns the errno of a lock by a description of its own.
  int lock(int operation) const {
    const Fd file = open();
    return ::flock(file.get(), operation | LOCK_NB) == 0 ? 0 : errno;
  }
  int lock_record(short type) const {
    const Fd file = open();
    struct flock record = at_ten(type);
    return ::fcntl(file.get(), F_OFD_SETLK, &record) == 0 ? 0 : errno;
  }
  static struct flock at_ten(short type) {
    struct flock record {};
    record.l_type = type;
    record.l_whence = SEEK_SET;
    record.l_start = 10;
    record.l_len = 1;
    return record;
  }

  std::string path_ = "/tmp/hold-inode.XXXXXX";
  Fd holder_;
};

TEST_F(HoldInodeTest, NobodyGetsAnExclusiveLockAndEverybodyASharedOne) {
  EXPECT_EQ(lock(LOCK_EX), 0);
  EXPECT_EQ(lock_record(F_WRLCK), 0);
  ASSERT_EQ(hold_inode(holder_.get()), 0);
  EXPECT_EQ(lock(LOCK_EX), EWOULDBLOCK);
  EXPECT_EQ(lock(LOCK_SH), 0);
  EXPECT_EQ(lock_record(F_WRLCK), EAGAIN);
  EXPECT_EQ(lock_record(F_RDLCK), 0);
}

TEST_F(HoldInodeTest, WhoAsksIsToldOfTheHolderWhoeverElseHasALock) {
  ASSERT_EQ(hold_inode(holder_.get()), 0);
  const Fd other = open();
  struct flock taken = at_ten(F_RDLCK);
  ASSERT_EQ(::fcntl(other.get(), F_OFD_SETLK, &taken), 0);
  const Fd asking = open();
  struct flock answer = at_ten(F_WRLCK);
  ASSERT_EQ(::fcntl(asking.get(), F_OFD_GETLK, &answer), 0);
  EXPECT_EQ(answer.l_type, F_RDLCK);
  EXPECT_EQ(answer.l_start, 0);
  EXPECT_EQ(answer.l_len, 0);
}

TEST_F(HoldInodeTest, AnotherHolderIsNoObstacle) {
  ASSERT_EQ(hold_inode(holder_.get()), 0);
  const Fd second = open();
  EXPECT_EQ(hold_inode(second.get()), 0);
}

TEST_F(HoldInodeTest, AnExclusiveLockOfSomebodyElseIs) {
  const Fd other = open();
  ASSERT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(hold_inode(holder_.get()), EWOULDBLOCK);
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  struct flock record = at_ten(F_WRLCK);
  ASSERT_EQ(::fcntl(other.get(), F_OFD_SETLK, &record), 0);
  EXPECT_EQ(hold_inode(holder_.get()), EAGAIN);
}

}  // namespace
}  // namespace jail
