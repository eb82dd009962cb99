# Observes: the interactive pieces that site adds, the debugger at end of input, code.interact.
# Ends: error 1
import code
import sys
print(type(exit), exit, repr(help))
sys.displayhook("shown")
print(_)
code.InteractiveConsole({"a": 3}).push("print(a)")
code.interact("banner", exitmsg="over")
breakpoint()
print("never")
