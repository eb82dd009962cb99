/* Three programs as bytes of the library, so that an embedder installs no second file: the launcher, what
   is loaded into an interpreter to make it a zygote, and the proxy of named egress. */
    .macro image name, path
    .balign 16
    .globl \name\()_begin
    .hidden \name\()_begin
\name\()_begin:
    .incbin "\path"
    .globl \name\()_end
    .hidden \name\()_end
\name\()_end:
    .byte 0
    .endm

    .section .rodata
    image jail_launcher_image, JAIL_LAUNCHER_PATH
    image jail_zygote_image, JAIL_ZYGOTE_PATH
    image jail_egress_image, JAIL_EGRESS_PATH
    .section .note.GNU-stack, "", %progbits
