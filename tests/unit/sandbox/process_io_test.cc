// ProcessIo over pipes that no program holds.
#include "runtime/sandbox/process_io.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/sandbox/pipe.h"

namespace runtime {
namespace {

class ProcessIoTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::signal(SIGPIPE, SIG_IGN); }

  // `options` has the whole input of the program.
  void create(ProcessIo::Options options) {
    io_ = std::make_shared<ProcessIo>(loop_.get_executor(), std::move(options));
    io_->offer_input(std::move(in_.writing));
  }
  void start() { io_->start(std::move(out_.reading), std::move(err_.reading)); }

  // Runs all that can be done now.
  void go_on() {
    loop_.restart();
    loop_.poll();
  }

  std::string kept(Stream stream) { return io_->take_kept(stream).bytes; }

  boost::asio::io_context loop_{1};
  Pipe in_;
  Pipe out_;
  Pipe err_;
  std::shared_ptr<ProcessIo> io_;
};

ProcessIo::Options with_cap(std::size_t cap) {
  ProcessIo::Options options;
  options.output_cap = cap;
  return options;
}

TEST_F(ProcessIoTest, KeepsEachOutputApart) {
  create(with_cap(100));
  start();
  out_.write("one");
  err_.write("two");
  go_on();
  out_.write(" more");
  go_on();
  EXPECT_EQ(kept(Stream::standard_output), "one more");
  EXPECT_EQ(kept(Stream::standard_error), "two");
}

TEST_F(ProcessIoTest, TellsOfWhatItDoesNotKeep) {
  ProcessIo::Options options = with_cap(5);
  std::string told;
  options.on_output = [&](Stream stream, std::string_view bytes) {
    EXPECT_EQ(stream, Stream::standard_output);
    told += bytes;
  };
  create(std::move(options));
  start();
  out_.write("12345");
  go_on();
  out_.write("67");
  go_on();
  EXPECT_EQ(told, "1234567");
  const ProcessIo::Kept out = io_->take_kept(Stream::standard_output);
  EXPECT_EQ(out.bytes, "12345");
  EXPECT_TRUE(out.truncated);
  EXPECT_FALSE(io_->take_kept(Stream::standard_error).truncated);
}

TEST_F(ProcessIoTest, AnOutputThatFillsTheCapIsWhole) {
  create(with_cap(5));
  start();
  out_.write("12345");
  go_on();
  EXPECT_FALSE(io_->take_kept(Stream::standard_output).truncated);
}

TEST_F(ProcessIoTest, KeepsNothingWithoutACap) {
  create({});
  start();
  out_.write("bytes");
  go_on();
  const ProcessIo::Kept out = io_->take_kept(Stream::standard_output);
  EXPECT_EQ(out.bytes, "");
  EXPECT_FALSE(out.truncated);
  EXPECT_EQ(::write(out_.writing.get(), "x", 1), 1) << "the pipe is still read";
}

TEST_F(ProcessIoTest, AClosedGateLeavesTheOutputInThePipe) {
  ProcessIo::Options options = with_cap(100);
  const OutputGate gate = options.gate;
  create(std::move(options));
  start();
  gate.close();
  out_.write("later");
  go_on();
  EXPECT_EQ(kept(Stream::standard_output), "");
  gate.open();
  go_on();
  EXPECT_EQ(kept(Stream::standard_output), "later");
}

TEST_F(ProcessIoTest, AGateThatIsClosedByTheOutputStopsTheNextRead) {
  ProcessIo::Options options = with_cap(1u << 20);
  const OutputGate gate = options.gate;
  std::size_t told = 0;
  options.on_output = [&](Stream, std::string_view bytes) {
    told += bytes.size();
    gate.close();
  };
  create(std::move(options));
  ASSERT_GE(::fcntl(out_.writing.get(), F_SETPIPE_SZ, 1 << 18), 1 << 18);
  start();
  out_.write(std::string(200'000, 'x'));
  go_on();
  EXPECT_GT(told, 0u);
  EXPECT_LT(told, 200'000u);
  io_->drain();
  EXPECT_EQ(told, 200'000u) << "the end of a program is read whatever the gate says";
}

TEST_F(ProcessIoTest, DrainsWhatThePipesHoldAtOnce) {
  create(with_cap(1u << 20));
  start();
  out_.write("last words");
  err_.write("and others");
  io_->drain();
  EXPECT_EQ(kept(Stream::standard_output), "last words");
  EXPECT_EQ(kept(Stream::standard_error), "and others");
}

TEST_F(ProcessIoTest, AnOutputThatIsNotWatchedStaysInItsPipe) {
  create(with_cap(100));
  io_->start_unwatched(std::move(out_.reading), std::move(err_.reading));
  out_.write("one");
  go_on();
  EXPECT_EQ(kept(Stream::standard_output), "");
  io_->watch_outputs();
  go_on();
  EXPECT_EQ(kept(Stream::standard_output), "one");
  err_.write("two");
  go_on();
  EXPECT_EQ(kept(Stream::standard_error), "two");
}

TEST_F(ProcessIoTest, DrainsWhatIsNotWatched) {
  create(with_cap(100));
  io_->start_unwatched(std::move(out_.reading), std::move(err_.reading));
  out_.write("one");
  err_.write("two");
  io_->drain();
  EXPECT_EQ(kept(Stream::standard_output), "one");
  EXPECT_EQ(kept(Stream::standard_error), "two");
}

TEST_F(ProcessIoTest, ClosesWhatIsNotWatchedWhenItStops) {
  create(with_cap(100));
  io_->start_unwatched(std::move(out_.reading), std::move(err_.reading));
  io_->stop();
  EXPECT_EQ(::write(out_.writing.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST_F(ProcessIoTest, NothingIsToldAfterItStops) {
  ProcessIo::Options options = with_cap(100);
  const OutputGate gate = options.gate;
  options.on_output = [](Stream, std::string_view) { ADD_FAILURE() << "told"; };
  create(std::move(options));
  gate.close();
  start();
  out_.write("too late");
  gate.open();
  io_->stop();
  go_on();
  EXPECT_EQ(::write(out_.writing.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST_F(ProcessIoTest, AProgramWithoutInputFindsItsEnd) {
  create({});
  EXPECT_TRUE(in_.at_end());
}

TEST_F(ProcessIoTest, InputIsThereBeforeTheStart) {
  ProcessIo::Options options;
  options.input = "first";
  create(std::move(options));
  EXPECT_EQ(in_.read(), "first");
  start();
  go_on();
  EXPECT_TRUE(in_.at_end());
}

TEST_F(ProcessIoTest, InputThatIsLargerThanThePipeFollows) {
  ProcessIo::Options options;
  options.input = std::string(1'000'000, 'x') + "end";
  const std::string all = options.input;
  create(std::move(options));
  start();
  std::string read;
  for (int turn = 0; turn < 1000 && read.size() < all.size(); ++turn) {
    read += in_.read();
    go_on();
  }
  EXPECT_EQ(read, all);
  EXPECT_TRUE(in_.at_end());
}

TEST_F(ProcessIoTest, AnotherProgramGetsTheInputFromItsBeginning) {
  ProcessIo::Options options;
  options.input = "all of it";
  create(std::move(options));
  Pipe other;
  io_->offer_input(std::move(other.writing));
  EXPECT_EQ(in_.read(), "all of it");
  EXPECT_TRUE(in_.at_end());
  EXPECT_EQ(other.read(), "all of it");
}

TEST_F(ProcessIoTest, InputThatNobodyReadsIsNoError) {
  ProcessIo::Options options = with_cap(100);
  options.input = std::string(1'000'000, 'x');
  create(std::move(options));
  start();
  in_.reading.reset();
  out_.write("goes on");
  go_on();
  EXPECT_EQ(kept(Stream::standard_output), "goes on");
}

TEST_F(ProcessIoTest, InputGoesOnFromADescriptor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const jail::Fd source(ends[0]);
  jail::Fd sink(ends[1]);
  ProcessIo::Options options;
  options.input = "text, ";
  options.input_fd = source.get();
  create(std::move(options));
  start();
  go_on();
  ASSERT_EQ(::write(sink.get(), "one ", 4), 4);
  go_on();
  EXPECT_EQ(in_.read(), "text, one ");
  ASSERT_EQ(::write(sink.get(), "two", 3), 3);
  go_on();
  EXPECT_EQ(in_.read(), "two");
  sink.reset();
  go_on();
  EXPECT_TRUE(in_.at_end());
  EXPECT_EQ(::fcntl(source.get(), F_GETFL) & O_NONBLOCK, 0) << "it is somebody else's";
}

TEST_F(ProcessIoTest, InputGoesOnFromAFile) {
  char name[] = "/tmp/process_io_test.XXXXXX";
  const jail::Fd file(::mkstemp(name));
  ASSERT_TRUE(file.valid());
  ::unlink(name);
  ASSERT_EQ(::pwrite(file.get(), "content", 7, 0), 7);
  ProcessIo::Options options;
  options.input_fd = file.get();
  create(std::move(options));
  start();
  go_on();
  EXPECT_EQ(in_.read(), "content");
  EXPECT_TRUE(in_.at_end());
}

}  // namespace
}  // namespace runtime
