// Observes: files that come with it, and what it leaves.
const fs = require("fs");
console.log(fs.readFileSync("data/in.txt", "utf8"), require("./lib/twice")(21), require("./settings.json"));
fs.mkdirSync("out");
fs.writeFileSync("out/result.txt", "written\n");
