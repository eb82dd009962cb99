// Ends: error 1
// Observes: a program that becomes no module.
const a: number = 1;
console.log("never");
let b: number = ;
