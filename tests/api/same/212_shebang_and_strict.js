"use strict";
// Observes: strict mode from the first line; what `this` is in a module.
console.log(this === module.exports, (function () { return this; })());
try {
  undeclared = 1;
} catch (error) {
  console.log(error.name, error.message, error.stack.split("\n")[1].trim());
}
console.log(typeof globalThis.require, arguments.length, typeof fetch, typeof structuredClone);
