// Observes: other processes, of node too, and which of them are its children.
import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
console.log(fs.readFileSync(`/proc/self/task/${process.pid}/children`, "utf8"));
console.log(execFileSync("/usr/bin/bash", ["-c", "ls /proc/self/fd | wc -l; jobs"], { encoding: "utf8" }));
const again = spawnSync(process.execPath, ["-p", "process.argv.length + process.execArgv.length"], { encoding: "utf8" });
console.log(again.status, again.stdout, again.stderr);
