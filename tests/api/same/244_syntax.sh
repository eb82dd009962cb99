# Ends: error 2
# Observes: a script that breaks off, after what stands before has run.
echo before
if true; then
  echo inside
