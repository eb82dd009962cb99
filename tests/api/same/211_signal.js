// Ends: killed SIGTERM
// Observes: a signal that it sends to itself.
require("fs").writeSync(1, "before\n");
process.kill(process.pid, "SIGTERM");
setTimeout(() => console.log("never"), 1000);
