#include "runtime/sandbox/module_syntax.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

TEST(ModuleSyntax, FindsWhatOnlyModulesHave) {
  for (const char* code : {
           "import fs from 'fs'",
           "import {a} from './b.js'",
           "import * as x from \"y\"",
           "import 'side-effect'",
           "#!/usr/bin/env node\nimport fs from 'fs'",
           "// a comment\n/* another */ import fs from 'fs'",
           "const a = 1\nexport default a",
           "export const a = 1",
           "export {a}",
           "console.log(import.meta.url)",
           "const x = await f()",
           "await Promise.all([])",
           "for await (const x of y) {}",
           "function f() { return 1 }\nawait (async () => {})()",
           "const s = `a ${b} c`; await f()",
           "const s = `a ${`b ${c}`} }`; export {s}",
           "const r = /['\"`{]/g; await f()",
           "const q = 4 / 2; const p = '/'; await f()",
           "console.log(await f())",
           "const a = [await f(), {b: await g()}]",
           "for (const x of y) { console.log(await x) }",
           "if (a) { await f() } else { await g() }",
           "try { await f() } catch (e) { }",
           "class A { async m() { await f() } }\nawait new A().m()",
           "const f = async x => await g(x)\nawait f(1)",
           "const f = async x => await g(x); await f(1)",
           "list.map(async x => await x); await y",
           "console.log(`a ${await f()} b`)",
           "x.replace(/[/]`/, 1)\nimport a from 'a'",
       }) {
    EXPECT_TRUE(uses_module_syntax(code)) << code;
  }
}

TEST(ModuleSyntax, LeavesTheRestToCommonJs) {
  for (const char* code : {
           "",
           "console.log(1)",
           "const fs = require('fs'); module.exports = 1",
           "const x = 'import fs from \"fs\"'",
           "const x = `\nimport fs from 'fs'\nexport {x}\n`",
           "const x = `${import('fs')}`",
           "// import fs from 'fs'",
           "/*\nexport default 1\n*/",
           "import('fs').then(f => f)",
           "async function f() { await g() }",
           "(async () => { await g() })()",
           "(async () => await g())()",
           "const f = async (x) => await g(x)",
           "const f = async (x) =>\n  await g(x)",
           "const f = async function () { for await (const x of y) { await x } }",
           "class A { async m(a) { if (a) { await f() } } static async n() { await g() } }",
           "const o = { async m() { return [await f()] }, async *g() { yield await 1 } }",
           "f(async () => { try { await g() } catch { await h() } finally { await i() } })",
           "list.map(async x => ({ y: await x, z: [await x] }))",
           "async function main() {\n  if (a) {\n    await f()\n  }\n  await g()\n}\nmain()",
           "const o = { import: 1, export: 2, await: 3 }; o.import; o.export.x",
           "var await = 1; await = 2",
           "const r = /import x from/; r.test('')",
           "const r = a ? /export {/ : 0",
           "exports.a = 1; exported(); important()",
           "`unfinished ${",
           "'unfinished\nx",
           "/* unfinished",
           ")]}}}",
       }) {
    EXPECT_FALSE(uses_module_syntax(code)) << code;
  }
}

TEST(ModuleSyntax, DeepNestingIsHarmless) {
  std::string code;
  for (int i = 0; i < 2000; ++i) code += "`${(";
  EXPECT_FALSE(uses_module_syntax(code));
  for (int i = 0; i < 2000; ++i) code += ")}`";
  uses_module_syntax(code + "\nimport a from 'a'");
}

}  // namespace
}  // namespace runtime
