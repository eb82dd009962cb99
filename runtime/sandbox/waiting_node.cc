#include "runtime/sandbox/waiting_node.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/sandbox/language.h"

namespace runtime {
namespace {

constexpr const char* path = "/etc/waiting_node.js";

// The variables that make room for NODE_OPTIONS, one after the other in every environment. Node
// reads neither.
constexpr std::string_view first_spare = "PIP_BREAK_SYSTEM_PACKAGES=1";
constexpr std::string_view second_spare = "PYTHONDONTWRITEBYTECODE=1";

// Node runs this before its program, and once more in each thread of it. It leaves nothing behind
// that the program can find but what node has loaded and compiled, and what ends it early. What is
// rehearsed is a console of a program: the parts of node that print are loaded when they are first
// used. The stream has no descriptor. Numbers of asynchronous resources begin where they began in a
// node that rehearsed nothing, and so do places in the memory that buffers share. The module of
// node that is imported keeps its exports from then on, whatever the program makes of it, so it is
// one that nobody can change. What the early end calls is taken before the program may replace it.
// Node's last argument names a file of CommonJS or a module that is made of TypeScript: where the
// former is missing, the program is an ES module.
//
// An esbuild waits beside a node that waits for TypeScript (language.cc), and node gives it two
// orders in esbuild's own protocol. The first is a rehearsal, a module of this very file that
// nobody writes, so that esbuild has the memory that the second one takes. The second makes the
// program's module, in the place of the command line that a cold program has. After it esbuild
// reads the end of its orders, answers and ends: node goes on when it has closed everything. Where
// the command line's standard input is the program's, esbuild's is that end. What is wrong with a
// program the command line says: some advice of an esbuild that takes orders is for JavaScript.
constexpr std::string_view module_text = R"js(
delete require.cache[__filename];
Object.defineProperty(process, '_preload_modules', { value: [], configurable: true, enumerable: true });
const Module = require('module');
for (const key in Module._pathCache) delete Module._pathCache[key];
if (require('worker_threads').isMainThread) {
  const fs = require('fs');
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of variables) process.env[name] = value;
  const { poolSize } = Buffer;
  Buffer.poolSize = 0;
  const given = process.argv[1];
  const makeModule = given.endsWith('.mjs') ? moduleMaker(fs) : null;
  try {
    rehearse();
  } catch {
    // The program does without.
  }
  Buffer.poolSize = poolSize;
  endEarly();
  const pipe = fs.openSync(makeModule ? typescript : given);
  read(fs, pipe, Buffer.alloc(1));
  fs.closeSync(pipe);
  if (makeModule && !makeModule()) process.reallyExit(1);
  process.chdir('/workspace');
  if (!fs.existsSync(given)) {
    const file = given.replace(/\.js$/, '.mjs');
    const find = Module._findPath;
    process.argv[1] = file;
    Module._findPath = () => {
      Module._findPath = find;
      return find(file, null, true);
    };
  }
}
// Returns how much of the buffer is filled: less than all of it at the end of what there is.
function read(fs, descriptor, buffer) {
  for (let filled = 0; ; ) {
    try {
      const size = fs.readSync(descriptor, buffer, filled, buffer.length - filled, null);
      filled += size;
      if (size === 0 || filled === buffer.length) return filled;
    } catch (error) {
      // A signal that node survives.
      if (error.code !== 'EINTR') throw error;
    }
  }
}
function moduleMaker(fs) {
  const answers = 58;
  const orders = 59;
  const number = (value) => [value & 255, (value >> 8) & 255, value >> 16, 0];
  const text = (value) => [...number(value.length), ...Buffer.from(value)];
  const encoded = (value) => {
    if (value === null) return [0];
    if (typeof value === 'boolean') return [1, Number(value)];
    if (typeof value === 'number') return [2, ...number(value)];
    if (typeof value === 'string') return [3, ...text(value)];
    if (Array.isArray(value)) return [5, ...number(value.length), ...value.flatMap(encoded)];
    const members = Object.entries(value);
    return [6, ...number(members.length), ...members.flatMap(([name, inner]) => [...text(name), ...encoded(inner)])];
  };
  const order = (key, file, flags, write) => {
    const build = { command: 'build', key, entries: [['', file]], flags, write, context: false };
    const places = { stdinContents: null, stdinResolveDir: null, absWorkingDir: '/workspace', nodePaths: [] };
    const message = [...number(key << 1), ...encoded({ ...build, ...places })];
    return Buffer.from([...number(message.length), ...message]);
  };
  const answer = () => {
    const size = Buffer.alloc(4);
    read(fs, answers, size);
    const message = Buffer.alloc(size.readUInt32LE());
    read(fs, answers, message);
    return message;
  };
  // The members of an answer are sorted, and this is the first.
  const hasNoErrors = (message) => message.indexOf('errors\x05\0\0\0\0') === 13;
  const rehearsal = order(0, __filename, [...moduleOptions, '--loader:.js=ts'], false);
  const silent = moduleOptions.map((option) => option.replace('--log-level=error', '--log-level=silent'));
  const program = order(1, typescript, silent, true);
  answer();  // its version
  fs.writeSync(orders, rehearsal);
  if (!hasNoErrors(answer())) process.reallyExit(1);
  const isMadeByCommandLine = () => {
    const { spawnSync } = require('child_process');
    return spawnSync('/usr/bin/esbuild', [typescript, ...moduleOptions], { cwd: '/workspace', stdio: 'inherit' }).status === 0;
  };
  const end = () => {
    while (read(fs, answers, Buffer.alloc(4096)) !== 0) continue;
    fs.closeSync(answers);
  };
  return () => {
    if (hasLargeFile(fs, '/workspace')) {
      fs.closeSync(orders);
      end();
      return isMadeByCommandLine();
    }
    fs.writeSync(orders, program);
    fs.closeSync(orders);
    const start = Buffer.alloc(28);
    const size = read(fs, answers, start);
    end();
    if (hasNoErrors(start.subarray(4))) return true;
    return size !== 0 && isMadeByCommandLine();
  };
}
// An answer has the whole line of each warning, of which a file of one long line may have many.
function hasLargeFile(fs, directory) {
  return fs.readdirSync(directory, { withFileTypes: true }).some((entry) => {
    const file = directory + '/' + entry.name;
    return entry.isDirectory() ? hasLargeFile(fs, file) : fs.lstatSync(file).size > 65536;
  });
}
function endEarly() {
  const { emit, reallyExit } = process;
  const { defineProperty, getOwnPropertyDescriptor: describe, getPrototypeOf } = Object;
  const { apply } = Reflect;
  const AnyError = Error;
  const above = getPrototypeOf(process);
  const own = (value) => ({ __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const isCalledByNode = () => {
    const limit = describe(AnyError, 'stackTraceLimit');
    const how = describe(AnyError, 'prepareStackTrace');
    if (!limit?.configurable || how?.configurable === false) return false;
    try {
      defineProperty(AnyError, 'stackTraceLimit', own(3));
      defineProperty(AnyError, 'prepareStackTrace', own((error, frames) => frames));
      return new AnyError().stack.length === 2;
    } catch {
      return false;
    } finally {
      defineProperty(AnyError, 'stackTraceLimit', limit);
      if (how === undefined) delete AnyError.prepareStackTrace;
      else defineProperty(AnyError, 'prepareStackTrace', how);
    }
  };
  defineProperty(above, 'emit', {
    configurable: true,
    enumerable: true,
    get() {
      const inherited = getPrototypeOf(above)?.emit;
      const ends = this === process && process._exiting && process._events?.exit === undefined;
      if (ends && inherited === emit && process.reallyExit === reallyExit && isCalledByNode()) {
        apply(reallyExit, process, [process.exitCode || 0]);
      }
      return inherited;
    },
    set(value) {
      defineProperty(this, 'emit', own(value));
    },
  });
}
function rehearse() {
  process.noDeprecation = true;
  const { async_id_fields: ids, constants: fields } = process.binding('async_wrap');
  delete process.noDeprecation;
  const first = ids[fields.kAsyncIdCounter];
  const { Socket } = require('net');
  require('tty');
  require('readline');
  const handle = { getAsyncId: () => 1, writeUtf8String: () => 0, writeLatin1String: () => 0 };
  const stream = new Socket({ handle, readable: false, writable: true });
  const { log, error } = new console.Console({ stdout: stream, stderr: stream, colorMode: false });
  log(6 * 7);
  log('%s', 'a', { a: [1, 'a'] });
  error(new Error('a'));
  require('fs/promises');
  import('data:text/javascript,import "node:constants"');
  process._tickCallback();
  ids[fields.kAsyncIdCounter] = first;
}
)js";

// The values that the module needs, as JavaScript.
std::string constants_text() {
  const std::string program = "/workspace/" + std::string(file_name_of(Language::typescript, ""));
  json::Writer variables;
  variables.begin_array();
  for (const std::string_view variable : environment_of(RunRequest{})) {
    const std::size_t equals = variable.find('=');
    variables.begin_array();
    variables.string(variable.substr(0, equals)).string(variable.substr(equals + 1));
    variables.end_array();
  }
  variables.end_array();
  json::Writer options;
  options.begin_array();
  for (const std::string& option : module_options_for(program)) options.string(option);
  options.end_array();
  return "const variables = " + std::move(variables).take() +
         ";\nconst typescript = " + json::quoted(program) +
         ";\nconst moduleOptions = " + std::move(options).take() + ";";
}

}  // namespace

jail::TextFile waiting_module() {
  return {path, "'use strict';\n" + constants_text() + std::string(module_text)};
}

std::vector<std::string> env_of_waiting_node(std::vector<std::string> env) {
  const auto spare = std::ranges::find(env, first_spare);
  std::string options = "NODE_OPTIONS=-r " + std::string(path);
  // Node passes over spaces.
  options.resize(first_spare.size() + 1 + second_spare.size(), ' ');
  *spare = std::move(options);
  env.erase(spare + 1);
  return env;
}

}  // namespace runtime
