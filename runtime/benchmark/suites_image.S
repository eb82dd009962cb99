/* The suites of runtime/benchmark/suites as bytes of the program, a NUL after each. */
    .section .rodata
    .globl runtime_suites_begin
    .hidden runtime_suites_begin
runtime_suites_begin:
    .incbin "quick.json"
    .byte 0
    .incbin "algorithms.json"
    .byte 0
    .incbin "error_recovery.json"
    .byte 0
    .incbin "data.json"
    .byte 0
    .incbin "math.json"
    .byte 0
    .incbin "strings.json"
    .byte 0
    .incbin "hard.json"
    .byte 0
    .globl runtime_suites_end
    .hidden runtime_suites_end
runtime_suites_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
