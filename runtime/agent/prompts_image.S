/* What is pasted into prompts and jails, as bytes of the program, a NUL after each; roles by their
   order in roles.h. */
    .section .rodata
    .globl runtime_prompts_begin
    .hidden runtime_prompts_begin
runtime_prompts_begin:
    .incbin "prompts/coder.md"
    .byte 0
    .incbin "prompts/critic.md"
    .byte 0
    .incbin "prompts/tester.md"
    .byte 0
    .incbin "prompts/architect.md"
    .byte 0
    .incbin "prompts/reviewer.md"
    .byte 0
    .incbin "prompts/security.md"
    .byte 0
    .incbin "prompts/optimizer.md"
    .byte 0
    .globl runtime_test_driver
    .hidden runtime_test_driver
runtime_test_driver:
    .incbin "test_driver.py"
    .byte 0
    .section .note.GNU-stack, "", %progbits
