// Observes: a thread of node that is given everything, nothing, or what it has of its own.
const { Worker, isMainThread, workerData, parentPort } = require("worker_threads");
if (isMainThread) {
  const kinds = [{}, { env: { A: "1" } }, { execArgv: [] }, { env: { NODE_OPTIONS: "--no-warnings" } }, { argv: ["x"] }, { stdout: true }];
  const next = () => {
    const options = kinds.shift();
    if (options === undefined) return;
    const worker = new Worker(__filename, { workerData: 6, ...options });
    worker.on("message", (message) => console.log(message));
    worker.on("exit", (code) => { console.log(code); next(); });
  };
  next();
} else {
  parentPort.postMessage({ workerData, env: process.env, argv: process.argv, execArgv: process.execArgv,
    preloaded: process._preload_modules, cache: Object.keys(require.cache), paths: Object.keys(require("module")._pathCache) });
  process.exitCode = 3;
}
