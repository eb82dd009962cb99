// The protocol's own client. Arguments: the directory node_modules, the URL or the program that it
// starts with the argument "mcp", and a file with calls as JSON lines {"name": ..., "arguments": ...};
// writes one line of JSON for each answer, after the list of tools.
const path = require("node:path");
const fs = require("node:fs");
const [modules, server, calls] = process.argv.slice(2);
const sdk = (name) => require(path.join(modules, "@modelcontextprotocol", "sdk", "dist", "cjs", "client", name));
const { Client } = sdk("index.js");
const { StdioClientTransport } = sdk("stdio.js");
const { StreamableHTTPClientTransport } = sdk("streamableHttp.js");

function transport() {
  if (server.startsWith("http://")) return new StreamableHTTPClientTransport(new URL(server));
  return new StdioClientTransport({ command: server, args: ["mcp"], env: process.env, stderr: "inherit" });
}

async function main() {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport());
  console.log(JSON.stringify({ server: client.getServerVersion(), ...(await client.listTools()) }));
  for (const line of fs.readFileSync(calls, "utf8").split("\n").filter(Boolean)) {
    console.log(JSON.stringify(await client.callTool(JSON.parse(line))));
  }
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
