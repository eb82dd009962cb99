// Ends: error 5
// Observes: who listens for the end, and that a listener which is added meanwhile is not called.
console.log(process.eventNames(), process.listenerCount("exit"), process.listeners("exit"), Object.keys(process._events));
console.log(process.emit === require("events").prototype.emit, Object.hasOwn(process, "emit"), "emit" in process);
process.on("exit", (code) => {
  console.log("first", code, process.exitCode, process.listenerCount("exit"), process._exiting);
  process.on("exit", () => console.log("never"));
  process.nextTick(() => console.log("a tick"));
  Promise.resolve().then(() => console.log("a promise"));
  process.exitCode = 4;
});
process.once("exit", (code) => {
  console.log("second", code, new Error("where").stack);
  process.exitCode = 5;
});
setTimeout(() => console.log("timer"), 1);
