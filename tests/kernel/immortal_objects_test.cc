// Objects of a zygote whose references its forks need not count: on the host's interpreter, and on
// that of the built root at AGENT_SANDBOX_ROOT. Which of the two can do that, the program says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "warm_jails.h"

namespace kernel_ring {
namespace {

using jail::Optimization;

// Three lines: whether this interpreter has such objects, which of those that programs only use are
// immortal, and which of those that may be freed, closed or replaced.
constexpr char program[] = R"py(
import abc, codecs, io, os, sys
def count(things): return sum(sys.getrefcount(thing) == (1 << 32) - 1 for thing in things)
print(sys.version_info[:2] in ((3, 12), (3, 13)) and sys.abiflags == "" and not hasattr(sys, "gettotalrefcount"))
join = os.path.join
used = [join, join.__code__, join.__code__.co_consts, join.__code__.co_names, os.path.isdir, os.path.normpath,
        os.PathLike, os._Environ, codecs.Codec, codecs.Codec.encode, abc.ABC, vars(os), vars(codecs), vars(abc),
        io.TextIOBase, io.TextIOBase.__mro__, os.PathLike.__mro__,
        os._Environ.__getitem__, vars(os.PathLike)["__class_getitem__"], codecs.lookup, os.stat, str.join, list.append]
print(count(used), len(used))
main = sys.modules["__main__"]
left = [main, vars(main), os, sys.stdin, sys.stdout, sys.stderr, sys.stdout.buffer, sys.stdout.buffer.raw, sys.path,
        sys.modules, sys.meta_path, sys.path_hooks, sys.path_importer_cache, sys.argv, sys.warnoptions, os.environ,
        os.environ._data, vars(os.environ), os.__spec__, vars(os.__spec__), sys.flags,
        sys.modules["encodings"]._cache, sys.implementation]
print(count(left), [type(thing).__name__ for thing in left if count([thing])])
)py";

void expect_counts(const jail::Root& root, Optimization immortal) {
  jail::TemplateSpec spec = python_template();
  spec.jail.root = root;
  spec.imports = {"codecs"};
  spec.optimizations.immortal_objects = immortal;
  DrivenPool pool(std::move(spec), {.least = 1, .usual = 1, .most = 1});
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  const Outcome outcome = run_warm(pool, program);
  const bool can = outcome.out.starts_with("True\n");
  EXPECT_TRUE(can || outcome.out.starts_with("False\n")) << outcome.err;
  const char* used = can && immortal == Optimization::on ? "\n23 23\n" : "\n0 23\n";
  EXPECT_NE(outcome.out.find(std::string(used) + "0 []\n"), std::string::npos) << outcome.out;
}

TEST(ImmortalObjects, AreThoseThatProgramsOnlyUse) {
  expect_counts(jail::host_root(), Optimization::on);
}

TEST(ImmortalObjects, AreNoneWhereTheyAreTurnedOff) {
  expect_counts(jail::host_root(), Optimization::off);
}

TEST(ImmortalObjects, OfABuiltRootAreTheSame) {
  const char* place = std::getenv("AGENT_SANDBOX_ROOT");
  if (place == nullptr ||
      !std::filesystem::exists(std::filesystem::path(place) / "manifest.json")) {
    GTEST_SKIP() << "no built root is named";
  }
  const auto root = jail::directory_root(place);
  ASSERT_TRUE(root) << root.error().message();
  expect_counts(*root, Optimization::on);
  expect_counts(*root, Optimization::off);
}

}  // namespace
}  // namespace kernel_ring
