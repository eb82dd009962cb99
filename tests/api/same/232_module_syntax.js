// Ends: error 1
// Observes: an ES module that is none, since a name is missing where it is imported.
import { missing } from "node:fs";
console.log("never", missing);
