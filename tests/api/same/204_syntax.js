// Ends: error 1
// Observes: an error before the first line.
console.log("never");
let value = ;
