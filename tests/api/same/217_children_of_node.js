// Observes: the variables and modules that a program has, and what its children inherit.
const { fork, execFileSync } = require("child_process");
const Module = require("module");
if (process.argv[2] === "child") {
  console.log("child", process.env, process.execArgv, process._preload_modules);
} else {
  console.log(process.env, process._preload_modules, Object.getOwnPropertyDescriptor(process, "_preload_modules"));
  console.log(Object.keys(process).sort().join(), Object.keys(Module).join(), String(Module._findPath).length);
  console.log(Object.keys(Module._cache), Object.keys(Module._pathCache), Object.getPrototypeOf(Module._pathCache), Module.globalPaths);
  console.log("noDeprecation" in process, Object.keys(globalThis), module.parent, require.main === module, module.paths);
  console.log(execFileSync("/usr/bin/env", { encoding: "utf8" }));
  console.log(process.report.getReport().environmentVariables, process.allowedNodeEnvironmentFlags.has("-r"));
  process.env.ADDED = "1";
  fork(__filename, ["child"]).on("exit", (code) => console.log(code));
}
