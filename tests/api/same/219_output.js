// Observes: the standard streams before and after their first use, and much output by both ways.
const fs = require("fs");
const flags = () => [0, 1, 2].map((fd) => fs.readFileSync(`/proc/self/fdinfo/${fd}`, "utf8").match(/flags:.*/)[0]);
console.log = ((log) => (...words) => log(...words))(console.log);
fs.writeSync(1, `${flags()} ${fs.readdirSync("/proc/self/fd").length}\n`);
fs.writeSync(1, "direct ".repeat(40000));
console.log("first");
fs.writeSync(1, `${flags()}\n`);
for (const stream of [process.stdout, process.stderr, process.stdin]) {
  console.log(stream.constructor.name, stream._type, stream.fd, stream.isTTY, stream.writableHighWaterMark, stream.writableLength, stream.listenerCount("error"));
}
console.error("x".repeat(70000));
process.stdout.write("y".repeat(100000), () => console.log("written"));
console.table([{ a: 1, b: "c" }]);
console.log("%s %d %o", "a", 4.5, { a: [new Map([[1, { b: new Set([2]) }]])] });
