#!/bin/bash
# Tries: the shell's own /dev/tcp to reach the runner's listener (its port is the first argument).
# Report: success; there is no connection.
if (echo probe >"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then
  echo "ESCAPED: connected to port $1"
else
  echo "CONTAINED: no connection"
fi
