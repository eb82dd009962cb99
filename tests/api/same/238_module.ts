// Ends: error 3
// Observes: what a module made of TypeScript awaits and imports, its errors' lines and its end.
import { readFileSync } from "node:fs";
type Named = { name: string };
const named: Named = { name: await new Promise<string>((resolve) => setTimeout(resolve, 2, "awaited")) };
console.log(named, import.meta.url, __filename, readFileSync("/proc/self/environ", "latin1").split("\0"));
console.log(process._preload_modules, process.env, Object.keys(require.cache), typeof module, process.mainModule);
console.log((await import("node:path")).join("a", "b"), new Error("where").stack);
process.on("exit", (code: number) => console.log("exit", code, process.listenerCount("exit")));
process.exitCode = 3;
