// Observes: reads its standard input in lines, and waits for its end.
const lines = [];
require("readline").createInterface({ input: process.stdin })
  .on("line", (line) => lines.push(line))
  .on("close", () => console.log(lines.length, lines));
