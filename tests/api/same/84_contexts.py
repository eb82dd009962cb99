# Observes: context variables, generators left open, async generators at the end, weak references.
import asyncio
import contextvars
import gc
import weakref
variable = contextvars.ContextVar("variable", default="unset")
print(variable.get(), variable in contextvars.copy_context())
token = variable.set("set")
print(token.old_value, contextvars.copy_context().run(variable.get))


class Thing:
    pass


thing = Thing()
reference = weakref.ref(thing, lambda _: print("gone"))
del thing
gc.collect()
print(reference())


async def ticking():
    try:
        while True:
            yield 1
    finally:
        print("closed")


async def main():
    async for _ in ticking():
        break
    return variable.get()


print(asyncio.run(main()))
left = ticking()
