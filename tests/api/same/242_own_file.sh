# Observes: the script's file is a file, with what was sent in it, and what it reads is its own.
stat -c '%F %s %a %h %u %g' "$0"; ls -la --time-style=+ . | tail -n +2; head -n 1 "$0"
if read -r line; then echo "input: $line"; else echo "no input"; fi
( read -r line; echo "in a subshell: $line" )
source ./part.sh
cat <<WORDS
here $((6 * 7))
WORDS
