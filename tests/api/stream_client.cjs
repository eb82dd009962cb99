// A client by `ws` from npm: one program to its end, one that is left. Prints what it saw as JSON.
const [, , modules, url] = process.argv;
const WebSocket = require(`${modules}/ws`);

function runToTheEnd() {
  return new Promise((resolve, reject) => {
    const seen = {types: [], stdout: ''};
    const socket = new WebSocket(url);
    socket.on('error', reject);
    socket.on('open', () => socket.send(JSON.stringify({code: "print('grüße')"})));
    socket.on('message', (text) => {
      const event = JSON.parse(text);
      seen.types.push(event.type);
      if (event.type === 'stdout') seen.stdout += event.data;
    });
    socket.on('close', (code) => resolve({...seen, code}));
  });
}

function leave() {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    let job = null;
    socket.on('error', reject);
    socket.on('open', () => socket.send(JSON.stringify({code: 'import time; time.sleep(50)', timeout_seconds: 55})));
    socket.on('message', (text) => {
      const event = JSON.parse(text);
      if (event.type !== 'started') return;
      job = event.data.job_id;
      socket.close();
    });
    socket.on('close', () => resolve(job));
  });
}

(async () => {
  const seen = await runToTheEnd();
  console.log(JSON.stringify({...seen, left: await leave()}));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
