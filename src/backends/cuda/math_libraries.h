// cuBLASLt and cuDNN of a program: opened at run time, so that neither is linked.
#pragma once

namespace tendon::backends::cuda {

class MathLibraries {};

}  // namespace tendon::backends::cuda
