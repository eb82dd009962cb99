// The FIFO at which an interpreter that was started beforehand waits, at the place where its
// program's file will be.
#pragma once

namespace jail::child {

// The interpreter opens it, as it would open the file, and reads until it ends. All results that
// are negative are errnos.
class ProgramPipe {
 public:
  // `workspace` is the directory that `name` is in.
  long make(int workspace, const char* name);

  // Returns 1 once the interpreter has it open, from when on the name is free for the program
  // itself; 0: not yet.
  long meet_reader();

  // Must be called when the program is there: hands over what the pipe takes. Where there is no
  // such file, the interpreter reads the end of one.
  long begin_pouring();
  // Hands over the rest, when descriptor() takes more.
  void pour();

  int descriptor() const { return pipe_; }  // -1: there is nothing to write

 private:
  void close();

  int workspace_ = -1;
  const char* name_ = nullptr;
  int pipe_ = -1;
  int file_ = -1;
};

}  // namespace jail::child
