// Observes: the input, read by a stream to its end.
let bytes = 0;
for await (const piece of process.stdin) bytes += piece.length;
console.log(bytes);
