// One element of a tensor as text.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tensor/visit.h"

namespace tendon::tensor {

/// Integers and bools in full, floating numbers with nine digits, complex numbers as "1-2i".
template <typename T>
std::string element_text(const T& value) {
  const std::complex<double> number = to_complex(value);
  if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", value);
  } else if constexpr (kIsComplex<T>) {
    return fmt::format("{:.9g}{:+.9g}i", number.real(), number.imag());
  } else {
    return fmt::format("{:.9g}", number.real());
  }
}

}  // namespace tendon::tensor
