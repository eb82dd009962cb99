/* The templates of rootfs/templates as bytes of the program, a NUL after each. */
    .section .rodata
    .globl runtime_templates_begin
    .hidden runtime_templates_begin
runtime_templates_begin:
    .incbin "bash.json"
    .byte 0
    .incbin "data.json"
    .byte 0
    .incbin "javascript.json"
    .byte 0
    .incbin "python.json"
    .byte 0
    .incbin "typescript.json"
    .byte 0
    .globl runtime_templates_end
    .hidden runtime_templates_end
runtime_templates_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
