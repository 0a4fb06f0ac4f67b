// Everything that generated kernels may use.
#pragma once

#include "device_std.cuh"
// Below: what elements mean is written once, for the CPU and for the GPU.
#include "base/half.h"
#include "compact.cuh"
#include "copy_bytes.cuh"
#include "define_symbol.cuh"
#include "error_table.cuh"
#include "ir/op.h"
#include "ir/philox.h"
#include "ir/scalar_math.h"
#include "ir/special_functions.cpp"
#include "attention.cuh"
#include "reduce.cuh"
#include "tiled_product.cuh"
#include "scan.cuh"
#include "scatter.cuh"
#include "size_functions.cuh"
#include "sort.cuh"

using namespace tendon;
using namespace tendon::ir;
using namespace tendon::device;
