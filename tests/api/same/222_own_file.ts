// Observes: the program's file and the module that it became are files.
import * as fs from "node:fs";
for (const path of [__filename, "/tmp/main.mjs"]) {
  const stat: fs.Stats = fs.lstatSync(path);
  console.log(path, stat.isFile(), stat.isFIFO(), stat.size, stat.mode.toString(8), stat.nlink, stat.uid, stat.gid);
}
console.log(fs.readdirSync("."), fs.readdirSync("/tmp"));
console.log(fs.readFileSync(__filename, "utf8").split("\n")[0], fs.readFileSync("/tmp/main.mjs", "utf8").length);
console.log(__filename, __dirname, import.meta.url, require.main === module, module.id);
