// Ends: error 1
// Observes: a promise that nobody waits for.
console.error("to stderr");
Promise.reject(new RangeError("out of it"));
