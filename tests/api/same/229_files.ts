// Observes: files that come with it, a configuration among them, and what it leaves.
import * as fs from "node:fs";
import twice from "./lib/twice";
import settings from "./settings.json";
console.log(fs.readFileSync("data/in.txt", "utf8"), twice(21), settings, require("./package.json").name);
fs.mkdirSync("out");
fs.writeFileSync("out/result.txt", "written\n");
