// Observes: what a program can ask of its process.
import * as fs from "node:fs";
import * as v8 from "node:v8";
const { argv, argv0, execArgv, execPath, env, title, pid, ppid, version, exitCode } = process;
console.log({ argv, argv0, execArgv, execPath, env, title, pid, ppid, version, exitCode });
console.log(process.cwd(), process.umask().toString(8), process.getuid!(), process.getgroups!(), process.stdin.isTTY);
console.log(fs.readFileSync("/proc/self/cmdline", "latin1").split("\0"), fs.readlinkSync("/proc/self/exe"));
console.log(fs.readFileSync("/proc/self/environ", "latin1").split("\0"));
console.log(fs.readFileSync("/proc/self/limits", "latin1"));
const about: RegExp = /^(Name|Umask|Uid|Gid|Groups|Cap|NoNew|Seccomp:|Sig[IC]|ShdPnd)/;
console.log(fs.readFileSync("/proc/self/status", "latin1").split("\n").filter((line) => about.test(line)));
console.log(fs.readdirSync("/proc/self/fd").filter((fd) => Number(fd) < 3), v8.getHeapStatistics().heap_size_limit);
