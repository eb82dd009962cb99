// Observes: node's modules and prototypes that the program changes before it imports them, and places in shared memory.
const fs = require("fs");
console.log(Buffer.from("a").byteOffset, Buffer.allocUnsafe(3).byteOffset, Buffer.poolSize);
const names = [];
for (const name in process) names.push(name);
console.log(names.length, names.includes("emit"), [...names].sort().join());
fs.existsSync = () => "changed";
import("node:fs").then((module) => console.log(module.existsSync("/"), module.default.existsSync("/")));
import("node:path").then((module) => console.log(module.join("a", "b")));
