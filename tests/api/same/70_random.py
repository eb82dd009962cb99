# Observes: that there is fresh randomness, by kind and length; the values are compared elsewhere.
import os
import random
import secrets
import tempfile
import uuid
print(uuid.uuid4().version, uuid.uuid1().version, len(os.urandom(8)), len(secrets.token_hex()), len(os.getrandom(5)), random.random() != random.random())
print(uuid.uuid5(uuid.NAMESPACE_DNS, "x"), random._inst.__class__, tempfile.gettempdir(), len(tempfile.mktemp()))
with tempfile.NamedTemporaryFile() as one, tempfile.TemporaryDirectory() as two:
    print(one.name != two, oct(os.stat(one.name).st_mode), oct(os.stat(two).st_mode), os.path.dirname(one.name))
print(os.listdir("/tmp"))
