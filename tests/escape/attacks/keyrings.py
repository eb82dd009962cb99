# Tries: keyrings, which are per host user and in no namespace of the jail's.
# Report: success; no key call works.
KEYCTL_GET_KEYRING_ID, KEYCTL_JOIN_SESSION_KEYRING, KEYCTL_DESCRIBE = 0, 1, 6
for label, keyring in (("thread", -1), ("process", -2), ("session", -3), ("user", -4), ("user session", -5)):
    must_fail(f"id of the {label} keyring", "keyctl", KEYCTL_GET_KEYRING_ID, keyring, 1, 0, 0)
    must_fail(f"describe the {label} keyring", "keyctl", KEYCTL_DESCRIBE, keyring, 0, 0, 0)
    must_fail(f"add to the {label} keyring", "add_key", b"user", b"escape-probe", b"x", 1, keyring)
must_fail("join", "keyctl", KEYCTL_JOIN_SESSION_KEYRING, b"escape-probe", 0, 0, 0)
must_fail("request", "request_key", b"user", b"escape-probe", None, -3)
must_raise("read /proc/keys", lambda: open("/proc/keys").read() or "(empty)")
verdict()
