/* The interface's description as bytes of the program: nothing beside it needs to be installed. */
    .section .rodata
    .globl server_openapi_begin
    .hidden server_openapi_begin
server_openapi_begin:
    .incbin SERVER_OPENAPI_PATH
    .globl server_openapi_end
    .hidden server_openapi_end
server_openapi_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
