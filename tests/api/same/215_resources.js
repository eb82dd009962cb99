// Observes: the numbers of asynchronous resources, their contexts, and which of them a console makes.
const hooks = require("async_hooks");
const { writeSync } = require("fs");
const say = (...words) => writeSync(1, `${words.join(" ")}\n`);
say(hooks.executionAsyncId(), hooks.triggerAsyncId(), new hooks.AsyncResource("A").asyncId());
hooks.createHook({
  init: (id, type, trigger) => say("init", id, type, trigger),
  before: (id) => say("before", id),
  after: (id) => say("after", id),
  destroy: (id) => say("destroy", id),
}).enable();
console.log("printed");
setTimeout(() => say("timer", hooks.executionAsyncId()), 400);
Promise.resolve().then(() => say("promise", hooks.executionAsyncId()));
say(process._getActiveHandles().length, process._getActiveRequests().length, process.getActiveResourcesInfo());
const storage = new hooks.AsyncLocalStorage();
storage.run(42, () => setImmediate(() => say("stored", storage.getStore())));
