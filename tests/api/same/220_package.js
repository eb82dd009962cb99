// Observes: a package that makes the program's file a module.
const kinds = [typeof require, typeof __filename, typeof module];
console.log(this, kinds, process.argv, process.cwd(), process.env.PWD);
