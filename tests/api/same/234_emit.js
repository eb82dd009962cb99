// Observes: events of the process where the program has replaced what emits those of all objects, and then those of the process.
const { writeSync } = require("fs");
const emitters = require("events").EventEmitter.prototype;
const { emit } = emitters;
emitters.emit = function (name, ...values) {
  if (this === process) writeSync(1, `${name} ${values} ${new Error("where").stack.split("\n").length}\n`);
  return emit.call(this, name, ...values);
};
process.emit("one", 1);
require("domain").create().run(() => process.emit("two", 2));
setTimeout(() => {
  const all = process.emit;
  process.emit = function (...values) {
    writeSync(1, `own ${values}\n`);
    return all.apply(this, values);
  };
  writeSync(1, `${JSON.stringify(Object.getOwnPropertyDescriptor(process, "emit"))}\n`);
}, 1);
