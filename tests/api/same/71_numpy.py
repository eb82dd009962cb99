# Observes: numpy: types, threads, printing, errors, files.
# Needs: numpy
import os
import sys
import numpy
print("numpy" in sys.modules, numpy.__version__, numpy.__file__, numpy.geterr(), numpy.get_printoptions())
matrix = numpy.arange(12.0).reshape(3, 4)
print(matrix @ matrix.T, numpy.linalg.inv(numpy.eye(3) * 2), numpy.linalg.svd(matrix)[1].round(6), numpy.fft.fft([1, 0, 0, 0]))
big = numpy.ones((400, 400))
# OpenBLAS starts threads by itself, which no fork of a template has.
threads = len(os.listdir("/proc/self/task")) if "openblas" not in open("/proc/self/maps").read() else "OpenBLAS's"
print((big @ big).sum(), threads, numpy.float32(0.1), repr(numpy.datetime64("2026-01-01")))
numpy.random.seed(3)
print(numpy.random.rand(3), numpy.random.default_rng(3).integers(0, 99, 4), numpy.random.get_state()[0])
numpy.array([1]) / numpy.array([0])
numpy.save("/tmp/saved.npy", matrix)
print(numpy.load("/tmp/saved.npy", mmap_mode="r")[1], numpy.ctypeslib.as_ctypes(matrix[0].copy())[1])
child = os.fork()
if child == 0:
    print((big @ big).sum(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
try:
    numpy.linalg.inv(numpy.zeros((2, 2)))
except numpy.linalg.LinAlgError as error:
    print(error)
