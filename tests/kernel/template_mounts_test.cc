// What the jails of a template take from their host as it is: its /dev, and that none of its mounts
// is shared; and what their init has left. Each mistake in a plan is made once, to show that it
// would be noticed.
#include <gmock/gmock.h>
#include <poll.h>

#include <sstream>

#include "faults.h"

namespace kernel_ring {
namespace {

using jail::Phase;
using testing::HasSubstr;
using testing::Not;

edited::Edit without(std::vector<std::string> steps) {
  return [steps = std::move(steps)](jail::Plan& plan) {
    for (const std::string& step : steps) {
      const auto fits = [&](const std::string& purpose) { return purpose.starts_with(step); };
      EXPECT_GE(edited::leave_out(plan, fits), 1u) << step;
    }
  };
}

class TemplateMounts : public FaultsTest {
 protected:
  edited::Template ready_template(const edited::Edit& edit_host = {},
                                  const edited::Edit& edit_jail = {}) const {
    auto warm = edited::Template::start(launcher_, python_template(), edit_host, edit_jail);
    EXPECT_TRUE(warm) << warm.error().message();
    const auto ready = warm->wait_until_ready(patience);
    EXPECT_TRUE(ready) << ready.error().message();
    return std::move(*warm);
  }

  static jail::Jail started_in(const edited::Template& warm, const std::string& code) {
    auto jail = warm.order();
    EXPECT_TRUE(jail) << jail.error().message();
    const auto ready = jail->wait(Phase::ready, patience);
    EXPECT_TRUE(ready) << ready.error().message();
    EXPECT_TRUE(jail->write_file("main.py", code, 0644));
    EXPECT_TRUE(jail->start());
    return std::move(*jail);
  }

  static std::string says(const edited::Template& warm, const std::string& code) {
    jail::Jail jail = started_in(warm, code);
    const Outcome outcome = collect(jail);
    EXPECT_EQ(outcome.report.exit_code, 0) << outcome.err;
    return outcome.out;
  }

  // What the second program says while the first one, which has printed a line, still runs.
  static std::string says_beside(const edited::Template& warm, const std::string& first,
                                 const std::string& second) {
    jail::Jail beside =
        started_in(warm, first + "\nprint('at work', flush=True)\nimport time\ntime.sleep(600)\n");
    const jail::Fd stream = beside.take_stdout();
    pollfd word{stream.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&word, 1, scaled_ms(10'000)), 1);
    EXPECT_THAT(read_all(stream), HasSubstr("at work"));
    std::string said = says(warm, second);
    beside.cancel();
    EXPECT_TRUE(beside.wait(Phase::ended, patience));
    return said;
  }
};

TEST_F(TemplateMounts, NoneIsSharedAndNoneOfDevIsWritable) {
  const std::string look = R"py(
for line in open('/proc/self/mountinfo'):
    where, options, *rest = line.split()[4:]
    if where.startswith('/dev'): print(where, ','.join(option for option in options.split(',') if option in ('ro', 'nosuid', 'nodev')))
    propagation = rest[:rest.index('-')]
    if propagation: print(where, *propagation)
)py";
  EXPECT_EQ(says(ready_template(), look),
            "/dev ro,nosuid,nodev\n/dev/null ro,nosuid\n/dev/zero ro,nosuid\n/dev/full ro,nosuid\n"
            "/dev/random ro,nosuid\n/dev/urandom ro,nosuid\n");
  if (file_text("/proc/self/mountinfo").find(" shared:") == std::string::npos) return;
  const edited::Template loose = ready_template(without({"make every mount private"}));
  EXPECT_THAT(says(loose, look), HasSubstr(" master:"));
}

TEST_F(TemplateMounts, NothingIsWrittenIntoADevThatAllJailsShow) {
  const std::string write = R"py(
try: open('/dev/left', 'w').close(); print('written')
except OSError as error: print(error.strerror)
)py";
  const std::string look = "import os; print('left' in os.listdir('/dev'))";
  const auto no_domain = without({"enter a Landlock domain"});
  {
    const edited::Template warm = ready_template({}, no_domain);
    EXPECT_EQ(says(warm, write), "Read-only file system\n");
    EXPECT_EQ(says(warm, look), "False\n");
  }
  const edited::Template loose = ready_template(without({"make / read-only"}), no_domain);
  EXPECT_EQ(says(loose, write), "written\n");
  EXPECT_EQ(says(loose, look), "True\n");
}

// Each program tries both kinds of lock, the exclusive ones first.
TEST_F(TemplateMounts, NoLockOnDevIsSeenInAnotherJail) {
  const std::string lock = R"py(
import fcntl, os, struct
def attempt(what, *arguments):
    try: return what(*arguments) or 'done'
    except OSError as error: return error.errno
dev = os.open('/dev', os.O_RDONLY)
record = lambda kind: struct.pack('hhqqi4x', kind, os.SEEK_SET, 0, 3, 0)
said = [attempt(fcntl.flock, dev, fcntl.LOCK_EX | fcntl.LOCK_NB), attempt(fcntl.flock, dev, fcntl.LOCK_SH | fcntl.LOCK_NB),
        attempt(fcntl.fcntl, dev, fcntl.F_OFD_GETLK, record(fcntl.F_WRLCK)),
        attempt(fcntl.fcntl, dev, fcntl.F_OFD_SETLK, record(fcntl.F_RDLCK)),
        attempt(fcntl.flock, dev, fcntl.LOCK_EX | fcntl.LOCK_NB)]
)py";
  const std::string tell = lock + "print(said)";
  const std::string keep =
      lock + "said.append(attempt(fcntl.flock, dev, fcntl.LOCK_SH | fcntl.LOCK_NB))";
  const std::string keep_exclusive =
      lock + "said.append(attempt(fcntl.flock, dev, fcntl.LOCK_EX | fcntl.LOCK_NB))";
  {
    const edited::Template warm = ready_template();
    const std::string alone = says(warm, tell);
    EXPECT_EQ(says_beside(warm, keep, tell), alone);
    EXPECT_EQ(says_beside(warm, keep_exclusive, tell), alone);
  }
  for (const char* step : {"hold /dev by a shared lock", "hold /dev by a shared record lock"}) {
    const edited::Template loose = ready_template(without({step}));
    EXPECT_NE(says_beside(loose, keep_exclusive, tell), says(loose, tell)) << step;
  }
}

// Only an execve could give init a capability, and with no_new_privs no execve does.
TEST_F(TemplateMounts, TheInitOfAJailHasNoCapabilityAndGainsNone) {
  const edited::Template warm = ready_template();
  const auto privileges = [&](const edited::Edit& edit_init) {
    auto jail = edit_init ? warm.order(edit_init) : warm.order();
    EXPECT_TRUE(jail) << jail.error().message();
    EXPECT_TRUE(jail->wait(Phase::ready, patience));
    std::istringstream status(
        file_text("/proc/" + std::to_string(process_of(jail->process_fd())) + "/status"));
    std::string said;
    for (std::string line; std::getline(status, line);) {
      for (const char* name : {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:", "NoNewPrivs:"}) {
        if (line.starts_with(name)) said += line + "\n";
      }
    }
    return said;
  };
  const std::string none = "\t0000000000000000\n";
  EXPECT_EQ(privileges({}), "CapInh:" + none + "CapPrm:" + none + "CapEff:" + none +
                                "CapAmb:" + none + "NoNewPrivs:\t1\n");
  EXPECT_THAT(privileges(without({"set no_new_privs"})), HasSubstr("NoNewPrivs:\t0"));
  EXPECT_THAT(privileges(without({"drop every capability"})), Not(HasSubstr("CapPrm:" + none)));
}

}  // namespace
}  // namespace kernel_ring
