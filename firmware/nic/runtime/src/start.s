# Reset is at address 0: one image, which the memory holds from the start.
    .section .text.start, "ax"
    .globl _start
_start:
    la      sp, _stack_top
    la      t0, _trap
    csrw    mtvec, t0
    csrw    mie, zero
    la      t0, _bss_start
    la      t1, _bss_end
1:  bgeu    t0, t1, 2f
    sw      zero, 0(t0)
    addi    t0, t0, 4
    j       1b
2:  la      t0, _stack_limit
    li      t1, 0x57acc0de
    sw      t1, 0(t0)
    call    firmware_main

# Every trap is an error: firmware polls, and enables no interrupt.
    .align 2
_trap:
    csrr    a0, mcause
    csrr    a1, mepc
    la      sp, _stack_top
    call    firmware_trap
