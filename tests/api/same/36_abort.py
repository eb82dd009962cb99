# Observes: abort() with faulthandler at work.
# Template: python
# Ends: killed SIGABRT
import faulthandler
import os
print(faulthandler.is_enabled())
faulthandler.enable()
print("lost")


def crash():
    os.abort()


crash()
