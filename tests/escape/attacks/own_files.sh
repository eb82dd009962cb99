#!/bin/bash
# Tries: from the shell, the writes and reads that write_root and proc_reads try from Python.
# Report: success; nothing could be written or read.
found=""
for path in /escape-probe /etc/escape-probe /usr/bin/escape-probe /etc/passwd /proc/sysrq-trigger; do
  if (echo probe >>"$path") 2>/dev/null; then found="$found wrote:$path"; fi
done
for path in /etc/shadow /proc/1/environ /proc/kcore "$1"; do
  if (cat "$path" >/dev/null) 2>/dev/null; then found="$found read:$path"; fi
done
if [[ -z $found ]]; then echo "CONTAINED: all refused"; else echo "ESCAPED:$found"; fi
