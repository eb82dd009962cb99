// Observes: a program that becomes a module longer than what a pipe holds.
import * as fs from "node:fs";
import { table } from "./table";
const text: string = fs.readFileSync("/tmp/main.mjs", "utf8");
console.log(text.length > 100_000, table.length, table[19].length, Buffer.byteLength(table.join("")));
