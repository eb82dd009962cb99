# Observes: another program in the shell's place, while lines are left that nobody reads.
exec python3 -c 'import sys; print(sys.stdin.read())'
echo never
echo never
