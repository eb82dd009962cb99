// Observes: an ES module, what it imports, and what it awaits.
import fs, { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import value, { named } from "./other.mjs";
import * as common from "./common.cjs";
console.log(import.meta.url, typeof import.meta.resolve, typeof require, typeof __filename, typeof module, this);
console.log(process.argv, process.execArgv, process.argv0, process.mainModule, process.title, Object.keys(process.env));
console.log(value, named, common, readFileSync(new URL(import.meta.url), "utf8").split("\n")[0], fs.readdirSync("."));
console.log(await new Promise((resolve) => setTimeout(resolve, 2, "awaited")), (await import("./other.mjs")).named);
console.log(createRequire(import.meta.url)("./common.cjs"), Object.keys(createRequire(import.meta.url).cache));
setImmediate(() => console.log("immediate"));
process.nextTick(() => console.log("tick"));
queueMicrotask(() => console.log("microtask"));
process.on("exit", (code) => console.log("exit", code, new Error("where").stack));
function inner() { return new Error("inner").stack; }
console.log(inner());
try { await import("./missing.mjs"); } catch (error) { console.log(error.code, error.message); }
