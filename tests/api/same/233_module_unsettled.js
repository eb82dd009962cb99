// Ends: error 13
// Observes: an ES module that waits for nothing.
import "node:fs";
process.on("exit", (code) => console.log("exit", code, process.listenerCount("exit")));
console.log("before");
await new Promise(() => {});
