# Ends: error 3
# Observes: a script that ends at its first error, in a function, with its trap.
set -Eeuo pipefail
trap 'echo "line $LINENO of ${FUNCNAME[*]}"; exit 3' ERR
inner() { false | cat; }
inner
echo never
