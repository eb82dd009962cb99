# Tries: the 32-bit entry of the kernel (int 0x80), whose numbers mean other calls than the filter reads.
# Report: violation, signal SIGSYS, no exit code; nothing after the call is printed.
# Expect: status=violation signal=SIGSYS last=about to call
# Machine: x86_64
import mmap
code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20 (getpid); int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print("about to call", flush=True)
print(f"ESCAPED: the 32-bit getpid said {function()}", flush=True)
