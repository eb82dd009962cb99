# Observes: output past the cap, on both streams.
import sys
sys.stdout.write("x" * ((1 << 20) + 10))
sys.stderr.write("y" * ((1 << 20) + 10))
sys.stderr.write("the end")
