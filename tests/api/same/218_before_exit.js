// Ends: error 2
// Observes: a loop that is begun again at its end, and objects that die on the way.
let rounds = 0;
new FinalizationRegistry(() => console.log("never")).register({}, 1);
process.on("beforeExit", (code) => {
  console.log("beforeExit", code, ++rounds);
  if (rounds < 3) setTimeout(() => console.log("again"), 1);
  if (rounds === 3) process.exitCode = 2;
});
process.on("exit", (code) => console.log("exit", code));
