#include "tensor/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "tensor/element_text.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace tendon::tensor {

namespace {

template <typename T>
double real_value(const T& value) {
  if constexpr (kIsComplex<T>) {
    return std::abs(to_complex(value));
  } else {
    return to_complex(value).real();
  }
}

template <typename T>
Statistics statistics_of(const T* data, std::int64_t count) {
  Statistics result;
  std::int64_t numbers = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = real_value(data[i]);
    if (std::isnan(value)) {
      ++result.nan_count;
      continue;
    }
    result.min = numbers == 0 ? value : std::min(result.min, value);
    result.max = numbers == 0 ? value : std::max(result.max, value);
    sum += value;
    ++numbers;
  }
  if (numbers != 0) result.mean = sum / static_cast<double>(numbers);
  return result;
}

}  // namespace

Result<Statistics> statistics(const TensorView& view) {
  TENDON_ASSIGN_OR_RETURN(const Tensor values, as_contiguous(view));
  return visit_dtype(view.dtype, [&]<typename T>(std::type_identity<T>) {
    return statistics_of(values.as<const T>(), values.elements());
  });
}

Result<std::string> preview(const TensorView& view, std::int64_t count) {
  TENDON_ASSIGN_OR_RETURN(const Tensor values, as_contiguous(view));
  std::string text = "[";
  visit_dtype(view.dtype, [&]<typename T>(std::type_identity<T>) {
    const T* data = values.as<const T>();
    for (std::int64_t i = 0; i < std::min(count, values.elements()); ++i) {
      if (i != 0) text += ", ";
      text += element_text(data[i]);
    }
  });
  return text + (values.elements() > count ? ", ...]" : "]");
}

}  // namespace tendon::tensor
