# Ends: killed SIGTERM
# Observes: a signal that it sends to itself.
echo before
kill -TERM $$
echo never
