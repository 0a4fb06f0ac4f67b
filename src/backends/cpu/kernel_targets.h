// Include before foreach_target.h: the instruction sets that kernels are compiled for. Machines
// without AVX2 use the portable loops.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
