// Ends: error 3
// Observes: timers, promises, the order of the loop's phases, and an exit status set on the way.
enum Status { done = 3 }
setTimeout(() => console.log("timeout"), 400);
setImmediate(() => console.log("immediate"));
process.nextTick(() => console.log("tick"));
Promise.resolve().then(() => console.log("promise"));
queueMicrotask(() => console.log("microtask"));
process.exitCode = Status.done;
process.on("beforeExit", () => console.log("beforeExit"));
console.log("main");
