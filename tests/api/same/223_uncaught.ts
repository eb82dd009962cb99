// Ends: error 1
// Observes: an error that nobody catches: its line, its stack, what was printed before.
process.stdout.write("before\n");
interface Thing { missing: { field: string } }
function inner(value: Thing): string {
  return value.missing.field;
}
process.on("exit", (code) => console.log("exit", code));
inner({} as Thing);
