# Observes: which system calls the policy answers, and how, for every number there is. Left out: those that would end,
# stop or change this process before it can tell.
import ctypes
import os
import sys
libc = ctypes.CDLL(None, use_errno=True)
unsafe = {0, 1, 3, 9, 10, 11, 12, 13, 14, 15, 22, 23, 24, 25, 32, 34, 35, 37, 38, 56, 57, 58, 59, 60, 61, 62, 101, 127, 128, 130, 157, 158, 162, 200, 202,
          205, 218, 219, 228, 230, 231, 232, 234, 247, 270, 271, 281, 292, 293, 317, 322, 334, 335, 336, 425, 434, 435, 436, 437, 441, 449, 454, 455, 456, 462}
answers = []
for number in range(470):
    if number not in unsafe:
        ctypes.set_errno(0)
        answers.append((number, libc.syscall(number, -1, -1, -1, -1, -1, -1) == -1, ctypes.get_errno()))
print(answers)
