# Ends: error 127
# Observes: errors, with their lines, and the status of the last command.
echo before
no_such_command
[ 1 -eq one ]
cd /none
(exit 7); echo $?
also_missing --with "an argument"
