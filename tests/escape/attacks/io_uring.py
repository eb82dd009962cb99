# Tries: io_uring, whose operations are system calls that no seccomp filter sees.
# Report: success; no ring can be made.
parameters = ctypes.create_string_buffer(120)
must_fail("io_uring_setup", "io_uring_setup", 4, parameters)
must_fail("io_uring_enter", "io_uring_enter", 0, 1, 0, 0, None, 0)
must_fail("io_uring_register", "io_uring_register", -1, 19, None, 0)
verdict()
