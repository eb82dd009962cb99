// The protocol's own client. Arguments: the directory node_modules, the URL, and a file with calls
// as JSON lines {"name": ..., "arguments": ...}; writes one line of JSON for each answer, after the list of tools.
const path = require("node:path");
const fs = require("node:fs");
const [modules, url, calls] = process.argv.slice(2);
const sdk = (name) => require(path.join(modules, "@modelcontextprotocol", "sdk", "dist", "cjs", "client", name));
const { Client } = sdk("index.js");
const { StreamableHTTPClientTransport } = sdk("streamableHttp.js");

async function main() {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
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
