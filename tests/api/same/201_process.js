// Observes: what a program can ask of its process.
const fs = require("fs");
const { argv, argv0, execArgv, execPath, env, title, pid, ppid, version, config, exitCode } = process;
console.log({ argv, argv0, execArgv, execPath, env, title, pid, ppid, version, exitCode });
console.log(process.cwd(), process.umask().toString(8), process.getuid(), process.getgroups(), process.stdin.isTTY);
console.log(fs.readFileSync("/proc/self/cmdline", "latin1").split("\0"), fs.readlinkSync("/proc/self/exe"));
console.log(fs.readFileSync("/proc/self/environ", "latin1").split("\0"));
console.log(fs.readFileSync("/proc/self/limits", "latin1"));
console.log(fs.readFileSync("/proc/self/status", "latin1").split("\n").filter((line) => /^(Name|Umask|Uid|Gid|Groups|Cap|NoNew|Seccomp:|Sig[IC]|ShdPnd)/.test(line)));
console.log(process.report.getReport().header.commandLine, require("v8").getHeapStatistics().heap_size_limit);
console.log(fs.readdirSync("/proc/self/fd").filter((fd) => fd < 3), Object.keys(require.cache), module.paths);
