/* The launcher program as bytes of the library: an embedder installs no second file. */
    .section .rodata
    .balign 16
    .globl jail_launcher_image_begin
    .hidden jail_launcher_image_begin
jail_launcher_image_begin:
    .incbin JAIL_LAUNCHER_PATH
    .globl jail_launcher_image_end
    .hidden jail_launcher_image_end
jail_launcher_image_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
