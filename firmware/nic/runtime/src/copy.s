# memcpy(a0 to, a1 from, a2 bytes), memmove, memset.
    .section .text.memmove, "ax"
    .globl memmove
    .globl memcpy
memmove:
    # From below, unless `to` is inside what is still to be read.
    sub     t0, a0, a1
    bltu    t0, a2, memmove_down
memcpy:
    mv      a5, a0
    xor     t0, a0, a1
    andi    t1, t0, 1
    bnez    t1, memcpy_bytes
    andi    t1, a0, 1
    beqz    t1, 1f
    beqz    a2, memcpy_end
    lbu     t1, 0(a1)
    addi    a1, a1, 1
    addi    a2, a2, -1
    sb      t1, 0(a5)
    addi    a5, a5, 1
1:  andi    t0, t0, 2
    bnez    t0, memcpy_halves
    andi    t1, a5, 2
    beqz    t1, 2f
    sltiu   t1, a2, 2
    bnez    t1, memcpy_bytes
    lhu     t1, 0(a1)
    addi    a1, a1, 2
    addi    a2, a2, -2
    sh      t1, 0(a5)
    addi    a5, a5, 2
2:  andi    a3, a2, -32
    beqz    a3, 4f
    add     a3, a3, a5
3:  lw      t0, 0(a1)
    lw      t1, 4(a1)
    lw      t2, 8(a1)
    lw      t3, 12(a1)
    lw      t4, 16(a1)
    lw      t5, 20(a1)
    lw      t6, 24(a1)
    lw      a4, 28(a1)
    addi    a1, a1, 32
    sw      t0, 0(a5)
    sw      t1, 4(a5)
    sw      t2, 8(a5)
    sw      t3, 12(a5)
    sw      t4, 16(a5)
    sw      t5, 20(a5)
    sw      t6, 24(a5)
    sw      a4, 28(a5)
    addi    a5, a5, 32
    bne     a5, a3, 3b
4:  andi    a3, a2, 28
    beqz    a3, 6f
    add     a3, a3, a5
5:  lw      t0, 0(a1)
    addi    a1, a1, 4
    sw      t0, 0(a5)
    addi    a5, a5, 4
    bne     a5, a3, 5b
6:  andi    a2, a2, 3
    j       memcpy_bytes
memcpy_halves:
    andi    a3, a2, -8
    beqz    a3, 8f
    add     a3, a3, a5
7:  lhu     t0, 0(a1)
    lhu     t1, 2(a1)
    lhu     t2, 4(a1)
    lhu     t3, 6(a1)
    addi    a1, a1, 8
    sh      t0, 0(a5)
    sh      t1, 2(a5)
    sh      t2, 4(a5)
    sh      t3, 6(a5)
    addi    a5, a5, 8
    bne     a5, a3, 7b
8:  andi    a2, a2, 7
memcpy_bytes:
    beqz    a2, memcpy_end
    add     a3, a5, a2
9:  lbu     t0, 0(a1)
    addi    a1, a1, 1
    sb      t0, 0(a5)
    addi    a5, a5, 1
    bne     a5, a3, 9b
memcpy_end:
    ret

memmove_down:
    beqz    t0, memcpy_end
    add     a5, a0, a2
    add     a1, a1, a2
    xor     t0, a5, a1
    andi    t0, t0, 3
    bnez    t0, 3f
1:  # Bytes until both ends are aligned, then words.
    andi    t0, a5, 3
    beqz    t0, 2f
    beq     a5, a0, memcpy_end
    addi    a1, a1, -1
    addi    a5, a5, -1
    lbu     t0, 0(a1)
    sb      t0, 0(a5)
    j       1b
2:  sub     t0, a5, a0
    sltiu   t0, t0, 4
    bnez    t0, 3f
    addi    a1, a1, -4
    addi    a5, a5, -4
    lw      t0, 0(a1)
    sw      t0, 0(a5)
    j       2b
3:  beq     a5, a0, memcpy_end
    addi    a1, a1, -1
    addi    a5, a5, -1
    lbu     t0, 0(a1)
    sb      t0, 0(a5)
    j       3b

# memset(a0 to, a1 byte, a2 bytes)
    .section .text.memset, "ax"
    .globl memset
memset:
    mv      a5, a0
    add     a3, a0, a2
    andi    a1, a1, 255
    beqz    a1, 1f
    # The byte in all four places.
    slli    t0, a1, 8
    or      a1, a1, t0
    slli    t0, a1, 16
    or      a1, a1, t0
1:  andi    t0, a5, 3
    beqz    t0, 2f
    beq     a5, a3, 5f
    sb      a1, 0(a5)
    addi    a5, a5, 1
    j       1b
2:  sub     t0, a3, a5
    andi    t0, t0, -4
    beqz    t0, 4f
    add     t0, t0, a5
3:  sw      a1, 0(a5)
    addi    a5, a5, 4
    bne     a5, t0, 3b
4:  beq     a5, a3, 5f
    sb      a1, 0(a5)
    addi    a5, a5, 1
    j       4b
5:  ret
