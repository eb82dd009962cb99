# Observes: decimal, fractions, floats, big integers, seeded random numbers, hashes.
import decimal
import fractions
import hashlib
import hmac
import math
import random
import statistics
import zlib
print(decimal.getcontext(), decimal.Decimal(1) / 7, decimal.Decimal(2).sqrt())
print(fractions.Fraction(0.1), 0.1 + 0.2, float.hex(math.pi), 2 ** 200, math.fsum([0.1] * 10), round(2.5), f"{1e300 * 10:.3g}", math.gamma(5.5))
random.seed(7)
print(random.random(), random.sample(range(100), 5), random.gauss(0, 1), random.Random(3).choice("abcdef"), random.getstate()[1][:3])
print(statistics.NormalDist(0, 1).samples(2, seed=3), hash(3.5), hash(2 ** 70), hash((1, 2)), hash(None) is not None)
print([hashlib.new(name, b"x", usedforsecurity=False).hexdigest()[:16] for name in ("md5", "sha1", "sha256", "sha3_256", "blake2b")])
print(sorted(hashlib.algorithms_guaranteed), hmac.new(b"k", b"m", "sha256").hexdigest(), zlib.crc32(b"x"), hashlib.scrypt(b"p", salt=b"s", n=16, r=1, p=1).hex()[:16])
try:
    print(int("9" * 5000))
except ValueError as error:
    print(error)
