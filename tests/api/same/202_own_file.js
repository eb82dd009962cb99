// Observes: the program's file is a file, with what was sent in it.
const fs = require("fs");
const stat = fs.statSync(__filename);
console.log(stat.isFile(), stat.isFIFO(), stat.size, stat.mode.toString(8), stat.nlink, fs.readdirSync("."));
console.log(fs.readFileSync(__filename, "utf8").split("\n")[0]);
console.log(__filename, __dirname, require.main === module, module.id, module.loaded, module.children);
console.log(require.resolve("./main.js"), require("./main.js") === module.exports);
fs.writeFileSync("other.js", "module.exports = 6 * 7; console.log(module.parent.filename);");
console.log(require("./other"));
