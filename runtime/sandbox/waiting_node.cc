#include "runtime/sandbox/waiting_node.h"

#include <algorithm>
#include <string_view>
#include <utility>

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
// former is missing, the program is an ES module, and where the latter is not announced, it could
// not be made.
constexpr std::string_view module_text = R"js('use strict';
delete require.cache[__filename];
Object.defineProperty(process, '_preload_modules', { value: [], configurable: true, enumerable: true });
const Module = require('module');
for (const key in Module._pathCache) delete Module._pathCache[key];
if (require('worker_threads').isMainThread) {
  const fs = require('fs');
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of VARIABLES) process.env[name] = value;
  const { poolSize } = Buffer;
  Buffer.poolSize = 0;
  try {
    rehearse();
  } catch {
    // The program does without.
  }
  Buffer.poolSize = poolSize;
  endEarly();
  const given = process.argv[1];
  const pipe = fs.openSync(given);
  let size;
  while (size === undefined) {
    try {
      size = fs.readSync(pipe, Buffer.alloc(1));
    } catch (error) {
      // A signal that node survives.
      if (error.code !== 'EINTR') throw error;
    }
  }
  fs.closeSync(pipe);
  if (size === 0 && given.endsWith('.mjs')) process.reallyExit(1);
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

std::string variables_text() {
  std::string text;
  for (const std::string& variable : environment_of(RunRequest{})) {
    const std::size_t equals = variable.find('=');
    text += text.empty() ? "" : ", ";
    text += "['" + variable.substr(0, equals) + "', '" + variable.substr(equals + 1) + "']";
  }
  return "[" + text + "]";
}

}  // namespace

jail::TextFile waiting_module() {
  constexpr std::string_view word = "VARIABLES";
  std::string text(module_text);
  text.replace(text.find(word), word.size(), variables_text());
  return {path, std::move(text)};
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
