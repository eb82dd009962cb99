// Ends: error 4
// Observes: an end that a program hears of although it has no listener.
const emitters = require("events").EventEmitter.prototype;
const { emit } = emitters;
emitters.emit = function (name, ...values) {
  if (name === "exit") process.exitCode = 4;
  return emit.call(this, name, ...values);
};
