# Observes: standard output closed below the interpreter before it ends.
# Ends: error 120
import os
print("not written")
os.close(1)
