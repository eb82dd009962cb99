# Tries: to open files of the host by their handles, past every path and every mount.
# Report: success; handles can be neither taken nor opened.
handle = ctypes.create_string_buffer(8 + 128)
for bound in ("/usr", "/etc", "/workspace", "/"):
    ctypes.memmove(handle, (128).to_bytes(4, sys.byteorder), 4)
    mount_id = (ctypes.c_int * 1)(0)
    must_fail(f"name_to_handle_at {bound}", "name_to_handle_at", -100, bound.encode(), handle, mount_id, 0)
descriptor = os.open("/usr", os.O_RDONLY)
for inode in (2, 128):  # the root of ext4, of xfs
    guess = (8).to_bytes(4, sys.byteorder) + (1).to_bytes(4, sys.byteorder) + inode.to_bytes(8, sys.byteorder)
    must_fail(f"open_by_handle_at {inode}", "open_by_handle_at", descriptor, ctypes.create_string_buffer(guess, 64), os.O_RDONLY)
verdict()
