# Observes: no class, codec or type cache entry that a cold interpreter would not have.
# Template: python
print(sorted(f"{each.__module__}.{each.__qualname__}" for each in object.__subclasses__()))
print(sorted(each.__qualname__ for each in BaseException.__subclasses__()), len(Exception.__subclasses__()))
import abc
import os
print(len(os._Environ.__mro__), sorted(each.__name__ for each in abc.ABC.__subclasses__()))
