# Observes: the names that the program begins with, and what its module says of itself.
print(sorted(globals()))
print(__name__, __file__, __package__, __doc__, __cached__ if "__cached__" in globals() else "no __cached__")
print(type(__loader__).__module__, type(__loader__).__qualname__, sorted(vars(__loader__).items()))
print(__spec__, type(__builtins__).__name__, __builtins__.__name__, __annotations__ if "__annotations__" in globals() else "none")
import sys
import __main__
print(__main__ is sys.modules["__main__"], vars(__main__) is globals(), locals() is globals(), repr(__main__))
print(__loader__.get_filename("__main__"), __loader__.is_package("__main__"))
print(__loader__.get_source("__main__").splitlines()[0])
print(sorted(vars(__builtins__)))
