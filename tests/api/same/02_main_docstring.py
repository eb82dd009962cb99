"""The docstring of a program."""
# Observes: docstring, annotations and the dictionary of a program that has them.
x: int = 3
y: "later"
print(__doc__, __annotations__, list(globals()))
print(__import__("__main__").__doc__, hasattr(__import__("__main__"), "y"))
del x
print("x" in globals(), __annotations__["x"] is int)
