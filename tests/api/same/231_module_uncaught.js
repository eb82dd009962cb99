// Ends: error 1
// Observes: an error of an ES module that nobody catches.
import { EventEmitter } from "node:events";
process.on("exit", (code) => console.log("exit", code));
console.log(typeof EventEmitter);
const inner = (value) => value.missing.field;
inner({});
