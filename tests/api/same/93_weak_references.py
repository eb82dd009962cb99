# Observes: weak references and finalizers that concern objects from before the program's first line, and objects of its own that
# hang on such. Not looked at: what becomes of such a function or class without any name.
import abc
import codecs
import gc
import os
import sys
import weakref


class Loud:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name, flush=True)


def died(reference):
    print("callback", reference() is None, flush=True)


# On each kind of thing, and off again.
os.path.join.own = Loud("on a function")
del os.path.join.own
abc.ABC.own = Loud("on a class")
abc.ABC.own = None
os.own = Loud("in a module")
del os.own
vars(codecs)["own"] = Loud("in a module's names")
vars(codecs).pop("own")
before = os.path.join.__kwdefaults__, os.path.isdir.__doc__ is None
os.path.join.__kwdefaults__ = {"own": Loud("in the defaults of a function")}
os.path.join.__kwdefaults__ = before[0]
sys.path_importer_cache["own"] = Loud("in a cache")
del sys.path_importer_cache["own"]
sys.path.append(Loud("in a list"))
del sys.path[-1]
held = Loud("beside what is kept"), os.path.join, "a name", 10**20, print, abc.ABC.__dict__, os.__dict__
reference = weakref.ref(held[0], died)
del held
print(reference())

# Things of the interpreter as keys and as targets.
table = weakref.WeakKeyDictionary({os.path.join: "function", abc.ABC: "class", os: "module", sys.stdout: "stream"})
print(sorted(table.values()), len(weakref.WeakSet([os.path.join, os.path.split, codecs.lookup])))
print(weakref.ref(os.path.join)() is os.path.join, weakref.getweakrefcount(codecs.decode))
weakref.finalize(os.path.join, print, "finalize of a function", flush=True)
weakref.finalize(abc.ABC, print, "finalize of a class", flush=True)
weakref.finalize(codecs, print, "finalize of a module", flush=True)
weakref.finalize(sys.stdout, print, "finalize of a stream", file=sys.stderr, flush=True)


class Child(abc.ABC):
    own = Loud("in a class whose base was there before")


print([each.__name__ for each in abc.ABC.__subclasses__() if each.__module__ == "__main__"])
child = weakref.ref(Child, died)
del Child
print(gc.collect() > 0, child(), [each.__name__ for each in abc.ABC.__subclasses__() if each.__module__ == "__main__"])
print(gc.get_referents(os.path.join) != [], any(each is table for each in gc.get_objects()))
end = Loud("at the end"), os.path.join, sys.stdout
