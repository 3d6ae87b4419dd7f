//go:build !purego

#include "textflag.h"

// func indexBlocks(text []byte, blocks []block, carry uint64) (carryOut, flags uint64)
//
// See indexBlocksGo, which says the same in Go. SSE2 only, which every amd64
// processor has.
//
//	SI text, CX blocks left, DI blocks, R10 carry, R11 odd bits
//	X8 quotes, X9 backslashes, X11 or of all bytes, X12 least of all bytes
TEXT ·indexBlocks(SB), NOSPLIT, $0-72
	MOVQ text_base+0(FP), SI
	MOVQ text_len+8(FP), CX
	MOVQ blocks_base+24(FP), DI
	MOVQ carry+48(FP), R10
	MOVQ $0xaaaaaaaaaaaaaaaa, R11
	MOVQ $0x2222222222222222, AX
	MOVQ AX, X8
	PUNPCKLQDQ X8, X8
	MOVQ $0x5c5c5c5c5c5c5c5c, AX
	MOVQ AX, X9
	PUNPCKLQDQ X9, X9
	PXOR X11, X11
	PCMPEQB X12, X12
	SHRQ $6, CX
	JZ done

block:
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	POR X0, X11
	POR X1, X11
	POR X2, X11
	POR X3, X11
	PMINUB X0, X12
	PMINUB X1, X12
	PMINUB X2, X12
	PMINUB X3, X12
	MOVO X0, X4
	MOVO X1, X5
	MOVO X2, X6
	MOVO X3, X7

	// AX = backslashes, a bit for each byte
	PCMPEQB X9, X0
	PCMPEQB X9, X1
	PCMPEQB X9, X2
	PCMPEQB X9, X3
	PMOVMSKB X0, AX
	PMOVMSKB X1, BX
	PMOVMSKB X2, DX
	PMOVMSKB X3, R9
	SHLQ $16, BX
	SHLQ $32, DX
	SHLQ $48, R9
	ORQ BX, AX
	ORQ R9, DX
	ORQ DX, AX

	// R13 = escaped bytes: the steps of escapedBits
	MOVQ R10, R12
	NOTQ R12
	ANDQ AX, R12
	LEAQ (R12)(R12*1), R13
	ORQ R11, R13
	SUBQ R12, R13
	XORQ R11, R13
	ORQ AX, R10
	ANDQ R13, AX
	XORQ R10, R13
	SHRQ $63, AX
	MOVQ AX, R10
	MOVQ R13, 8(DI)
	NOTQ R13

	// AX = quotes that are not escaped
	PCMPEQB X8, X4
	PCMPEQB X8, X5
	PCMPEQB X8, X6
	PCMPEQB X8, X7
	PMOVMSKB X4, AX
	PMOVMSKB X5, BX
	PMOVMSKB X6, DX
	PMOVMSKB X7, R9
	SHLQ $16, BX
	SHLQ $32, DX
	SHLQ $48, R9
	ORQ BX, AX
	ORQ R9, DX
	ORQ DX, AX
	ANDQ R13, AX
	MOVQ AX, (DI)

	ADDQ $64, SI
	ADDQ $16, DI
	DECQ CX
	JNZ block

done:
	MOVQ R10, carryOut+56(FP)

	// Bit 0: a byte above 0x7f. Bit 1: a byte below 0x20.
	XORQ BX, BX
	PMOVMSKB X11, AX
	TESTQ AX, AX
	SETNE BL
	MOVQ $0x1f1f1f1f1f1f1f1f, AX
	MOVQ AX, X10
	PUNPCKLQDQ X10, X10
	PMINUB X12, X10
	PCMPEQB X12, X10
	PMOVMSKB X10, AX
	XORQ DX, DX
	TESTQ AX, AX
	SETNE DL
	LEAQ (BX)(DX*2), AX
	MOVQ AX, flags+64(FP)
	RET
