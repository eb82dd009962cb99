// Ends: error 3
// Observes: an end whose tools the program has replaced: none of them is called.
const { writeSync } = require("fs");
const { apply } = Reflect;
for (const [owner, names] of [[Object, ["getPrototypeOf", "getOwnPropertyDescriptor", "defineProperty"]],
  [Reflect, ["apply"]], [Function.prototype, ["call", "apply"]]]) {
  for (const name of names) {
    const original = owner[name];
    let inside = false;
    owner[name] = function (...values) {
      if (!inside) {
        inside = true;
        writeSync(1, `${name}\n`);
        inside = false;
      }
      return apply(original, this, values);
    };
  }
}
const Original = Error;
globalThis.Error = class extends Original {
  constructor(...values) {
    super(...values);
    writeSync(1, "an error\n");
  }
};
let how;
Object.defineProperty(Original, "prepareStackTrace", {
  configurable: true,
  get() { writeSync(1, "read\n"); return how; },
  set(value) { writeSync(1, "set\n"); how = value; },
});
process.exitCode = 3;
