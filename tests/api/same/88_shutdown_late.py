# Observes: what the interpreter says of an error in a finalizer when its modules are going.
class Last:
    def __del__(self):
        raise ValueError("ignored")


last = Last()
last.itself = last
print("the end")
