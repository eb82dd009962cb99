// Ends: error 13
// Observes: a module made of TypeScript that waits for nothing.
console.log("before" as string);
await new Promise<void>(() => {});
