// Ends: error 6
// Observes: an end in the middle, whose last call the program has replaced; what was printed comes whole.
const reallyExit = process.reallyExit;
process.reallyExit = function (code) {
  require("fs").writeSync(1, `really ${code} ${new Error("where").stack}\n`);
  reallyExit.call(process, code);
};
process.on("exit", (code) => console.log("exit", code));
setInterval(() => console.log("never"), 60000);
setImmediate(() => {
  console.log("x".repeat(30000));
  process.exit(6);
});
