#!/bin/bash -eu
# Observes: a first line that nobody but the kernel heeds, carriage returns, letters of other alphabets.
printf '%s\n' "äöü€😀" "${#0}" "$(printf 'x\r\n' | od -c | head -n 1)"
echo "$-"
