// Observes: other processes and threads, of node too.
const { execFileSync, spawnSync } = require("child_process");
const { Worker, isMainThread, parentPort } = require("worker_threads");
if (!isMainThread) {
  parentPort.postMessage(6 * 7);
} else {
  console.log(execFileSync("/usr/bin/bash", ["-c", "echo $PPID $$; ls /proc/self/fd | wc -l"], { encoding: "utf8" }).split("\n").length);
  const again = spawnSync(process.execPath, ["-p", "process.argv.length + process.execArgv.length"], { encoding: "utf8" });
  console.log(again.status, again.stdout, again.stderr);
  new Worker(__filename).on("message", (value) => console.log(value));
}
