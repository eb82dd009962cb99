# Observes: numpy's counts of references: arrays that are resized in place, views that keep their base, arrays that die.
# Needs: numpy
import gc
import sys
import weakref
import numpy


def attempt(what):
    try:
        return what()
    except ValueError as error:
        return str(error).split("\n")[0][:60]


array = numpy.arange(6)
array.resize(8)
print(array)
other = array
print(attempt(lambda: array.resize(4)), attempt(lambda: array.resize(4, refcheck=False)), other)
view = numpy.arange(6)[2:]
print(view.base is not None, attempt(lambda: view.resize(9)), sys.getrefcount(view.base))
numpy.own = numpy.zeros(3)
numpy.own.resize(5)
print(numpy.own, sys.getrefcount(numpy.own))
reference = weakref.ref(numpy.own)
del numpy.own
print(reference(), sys.getrefcount(numpy.float64(2.5)) < 10)
big = numpy.ones(1 << 20)
weak = weakref.ref(big, lambda _: print("the array is gone"))
half = big[::2]
del big
print(weak() is not None)
del half
gc.collect()
sums = numpy.add.reduce(numpy.ones((3, 3)) * 2 + 1 - numpy.ones((3, 3)))
print(sums, numpy.add.own if hasattr(numpy.add, "own") else "none", numpy.add(1, 2, out=numpy.zeros(())), numpy.dtype("f8") is numpy.dtype(float))


class Mine(numpy.ndarray):
    def __del__(self):
        print("del of a subclass", self.shape, flush=True)


numpy.arange(3).view(Mine)
kept = numpy.arange(4).view(Mine)
print(Mine in numpy.ndarray.__subclasses__())
numpy.arange, before = (lambda *_: "replaced"), numpy.arange
print(numpy.arange(3))
numpy.arange = before
