#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/reduce_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels_reduce.cpp"
#include "backends/cpu/kernel_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h.
#include "backends/cpu/kernel_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;

// Combinations of two elements: of vectors and of scalars, and what changes nothing.
struct Sum {
  template <class V>
  static HWY_INLINE V vector(V a, V b) {
    return hn::Add(a, b);
  }
  template <typename T>
  static T scalar(T a, T b) {
    if constexpr (kIsFloat<T>) return a + b;
    using Unsigned = std::make_unsigned_t<std::conditional_t<kIsFloat<T>, int, T>>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
  template <typename T>
  static constexpr T identity() {
    return T(0);
  }
};
struct Product {
  template <class V>
  static HWY_INLINE V vector(V a, V b) {
    return hn::Mul(a, b);
  }
  template <typename T>
  static T scalar(T a, T b) {
    if constexpr (kIsFloat<T>) return a * b;
    using Unsigned = std::make_unsigned_t<std::conditional_t<kIsFloat<T>, int, T>>;
    return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  }
  template <typename T>
  static constexpr T identity() {
    return T(1);
  }
};
template <bool kMaximum>
struct Extreme {
  template <class V>
  static HWY_INLINE V vector(V a, V b) {
    const V extreme = kMaximum ? hn::Max(a, b) : hn::Min(a, b);
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::IfThenElse(hn::Eq(a, a), hn::IfThenElse(hn::Eq(b, b), extreme, b), a);
    } else {
      return extreme;
    }
  }
  template <typename T>
  static T scalar(T a, T b) {
    if (a != a) return a;
    if (b != b) return b;
    return (kMaximum ? a < b : b < a) ? b : a;
  }
  template <typename T>
  static constexpr T identity() {
    if constexpr (kIsFloat<T>) {
      return kMaximum ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    } else if constexpr (sizeof(T) == 1) {  // bool
      return kMaximum ? 0 : 1;
    } else {
      return kMaximum ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    }
  }
};

/// All elements of a tile combined, in an order that depends on `count` only.
template <class F, typename T>
T combine_tile(const T* tile, std::int64_t count) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto identity = hn::Set(d, F::template identity<T>());
  auto sum0 = identity;
  auto sum1 = identity;
  auto sum2 = identity;
  auto sum3 = identity;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = F::vector(sum0, hn::LoadU(d, tile + i));
    sum1 = F::vector(sum1, hn::LoadU(d, tile + i + lanes));
    sum2 = F::vector(sum2, hn::LoadU(d, tile + i + 2 * lanes));
    sum3 = F::vector(sum3, hn::LoadU(d, tile + i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) sum0 = F::vector(sum0, hn::LoadU(d, tile + i));
  if (i < count) {
    const auto rest = hn::FirstN(d, static_cast<std::size_t>(count - i));
    sum1 = F::vector(sum1, hn::IfThenElse(rest, hn::LoadU(d, tile + i), identity));
  }
  HWY_ALIGN T lane[kVectorBytes / sizeof(T)];
  hn::Store(F::vector(F::vector(sum0, sum1), F::vector(sum2, sum3)), d, lane);
  for (std::int64_t width = lanes / 2; width > 0; width /= 2) {
    for (std::int64_t k = 0; k < width; ++k) lane[k] = F::scalar(lane[k], lane[k + width]);
  }
  return lane[0];
}

// Sums, products and extremes of a row.
template <class F, typename T>
struct Row {
  static void init(Accumulator& a) {
    if constexpr (kIsFloat<T>) {
      a.number = F::template identity<T>();
    } else {
      a.integer = static_cast<std::int64_t>(F::template identity<T>());
    }
  }
  static void append(Accumulator& a, T value) {
    if constexpr (std::is_same_v<F, Sum> && kIsFloat<T>) {
      // Compensated: tiles are many when rows are long.
      const double x = value;
      const double sum = a.number + x;
      if (std::isfinite(sum)) {
        a.second +=
            std::fabs(a.number) >= std::fabs(x) ? (a.number - sum) + x : (x - sum) + a.number;
      }
      a.number = sum;
    } else if constexpr (kIsFloat<T>) {
      a.number = F::scalar(a.number, static_cast<double>(value));
    } else {
      a.integer = static_cast<std::int64_t>(F::scalar(static_cast<T>(a.integer), value));
    }
  }
  static void add(Accumulator& a, const void* tile, std::int64_t, std::int64_t count) {
    append(a, combine_tile<F>(static_cast<const T*>(tile), count));
  }
  static void merge(Accumulator& a, const Accumulator& other) {
    if constexpr (kIsFloat<T>) {
      if constexpr (std::is_same_v<F, Sum>) {
        Row<F, double>::append(a, other.number);
        a.second += other.second;
      } else {
        a.number = F::scalar(a.number, other.number);
      }
    } else {
      append(a, static_cast<T>(other.integer));
    }
  }
  static void finish(const Accumulator& a, void* first, void*) {
    T result;
    if constexpr (kIsFloat<T>) {
      result = static_cast<T>(a.number + a.second);
    } else {
      result = static_cast<T>(a.integer);
    }
    std::memcpy(first, &result, sizeof(T));
  }
};

template <bool kMaximum, typename T>
struct RowArg {
  static T best(const Accumulator& a) {
    if constexpr (kIsFloat<T>) {
      return static_cast<T>(a.number);
    } else {
      return static_cast<T>(a.integer);
    }
  }
  static void set(Accumulator& a, T value, std::int64_t position) {
    if constexpr (kIsFloat<T>) {
      a.number = value;
    } else {
      a.integer = static_cast<std::int64_t>(value);
    }
    a.position = position;
  }
  static bool better(T candidate, T current) {
    if (current != current) return false;
    return candidate != candidate || (kMaximum ? current < candidate : candidate < current);
  }
  static void init(Accumulator&) {}
  static void add(Accumulator& a, const void* tile, std::int64_t position, std::int64_t count) {
    const T* x = static_cast<const T*>(tile);
    const T extreme = combine_tile<Extreme<kMaximum>>(x, count);
    if (a.count == 0 || better(extreme, best(a))) {
      std::int64_t i = 0;
      if (extreme != extreme) {
        while (i + 1 < count && x[i] == x[i]) ++i;
      } else {
        while (i + 1 < count && x[i] != extreme) ++i;
      }
      set(a, extreme, position + i);
    }
    a.count += count;
  }
  static void merge(Accumulator& a, const Accumulator& other) {
    if (other.count == 0) return;
    if (a.count == 0 || better(best(other), best(a))) set(a, best(other), other.position);
    a.count += other.count;
  }
  static void finish(const Accumulator& a, void* first, void*) {
    std::memcpy(first, &a.position, sizeof(a.position));
  }
};

template <typename T>
struct RowMoments {
  static void init(Accumulator&) {}
  static void add(Accumulator& a, const void* tile, std::int64_t, std::int64_t count) {
    const T* x = static_cast<const T*>(tile);
    const Tag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const double elements = static_cast<double>(count);
    const T center = static_cast<T>(static_cast<double>(combine_tile<Sum>(x, count)) / elements);
    // Deviations from the rounded mean, and what they say about the mean itself.
    const auto mean = hn::Set(d, center);
    auto deviation0 = hn::Zero(d);
    auto deviation1 = hn::Zero(d);
    auto square0 = hn::Zero(d);
    auto square1 = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto u = hn::Sub(hn::LoadU(d, x + i), mean);
      const auto v = hn::Sub(hn::LoadU(d, x + i + lanes), mean);
      deviation0 = hn::Add(deviation0, u);
      deviation1 = hn::Add(deviation1, v);
      square0 = hn::MulAdd(u, u, square0);
      square1 = hn::MulAdd(v, v, square1);
    }
    for (; i < count; i += lanes) {
      const auto rest = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, count - i)));
      const auto u = hn::IfThenElseZero(rest, hn::Sub(hn::LoadU(d, x + i), mean));
      deviation0 = hn::Add(deviation0, u);
      square0 = hn::MulAdd(u, u, square0);
    }
    HWY_ALIGN T deviations[kVectorBytes / sizeof(T)];
    HWY_ALIGN T squares[kVectorBytes / sizeof(T)];
    hn::Store(hn::Add(deviation0, deviation1), d, deviations);
    hn::Store(hn::Add(square0, square1), d, squares);
    double deviation = 0;
    double square = 0;
    for (std::int64_t k = 0; k < lanes; ++k) {
      deviation += deviations[k];
      square += squares[k];
    }
    Accumulator part;
    part.count = count;
    part.number = center + deviation / elements;
    part.second = std::max(0.0, square - deviation * deviation / elements);
    if (square != square) part.second = square;
    merge(a, part);
  }
  static void merge(Accumulator& a, const Accumulator& other) {
    if (other.count == 0) return;
    if (a.count == 0) {
      a = other;
      return;
    }
    const auto count = static_cast<double>(a.count);
    const auto more = static_cast<double>(other.count);
    const double delta = other.number - a.number;
    a.number += delta * (more / (count + more));
    a.second += other.second + delta * delta * (count * more / (count + more));
    a.count += other.count;
  }
  static void finish(const Accumulator& a, void* first, void* second) {
    const T mean = a.count == 0 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(a.number);
    const T squares = static_cast<T>(a.second);
    std::memcpy(first, &mean, sizeof(T));
    std::memcpy(second, &squares, sizeof(T));
  }
};

// Folds: plain loops, which the compiler turns into vectors. Float sums and products are kept in
// float64, so that they need no order of their own.
template <class F, typename T>
struct Fold {
  static constexpr bool kWide =
      std::is_same_v<T, float> && (std::is_same_v<F, Sum> || std::is_same_v<F, Product>);
  using A = std::conditional_t<kWide, double, T>;

  static void init(void* first, void*, std::int64_t count) {
    std::fill_n(static_cast<A*>(first), count, static_cast<A>(F::template identity<T>()));
  }
  static void add(void* first, void*, const void* tile, int step, std::int64_t,
                  std::int64_t count) {
    A* a = static_cast<A*>(first);
    const T* x = static_cast<const T*>(tile);
    if (step == 0) {
      const A value = static_cast<A>(*x);
      for (std::int64_t i = 0; i < count; ++i) a[i] = F::scalar(a[i], value);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) a[i] = F::scalar(a[i], static_cast<A>(x[i]));
  }
  static void finish(void* first, void*, std::int64_t, std::int64_t count) {
    if constexpr (kWide) {
      const double* a = static_cast<const double*>(first);
      T* out = static_cast<T*>(first);
      for (std::int64_t i = 0; i < count; ++i) {
        const T value = static_cast<T>(a[i]);
        std::memcpy(out + i, &value, sizeof(T));
      }
    }
  }
};

template <bool kMaximum, typename T>
struct FoldArg {
  static void init(void* first, void* second, std::int64_t count) {
    std::fill_n(static_cast<T*>(first), count, Extreme<kMaximum>::template identity<T>());
    std::fill_n(static_cast<std::int64_t*>(second), count, 0);
  }
  static void add(void* first, void* second, const void* tile, int step, std::int64_t position,
                  std::int64_t count) {
    T* best = static_cast<T*>(first);
    auto* positions = static_cast<std::int64_t*>(second);
    const T* x = static_cast<const T*>(tile);
    for (std::int64_t i = 0; i < count; ++i) {
      const T value = x[i * step];
      const bool better = RowArg<kMaximum, T>::better(value, best[i]);
      best[i] = better ? value : best[i];
      positions[i] = better ? position : positions[i];
    }
  }
  static void finish(void* first, void* second, std::int64_t, std::int64_t count) {
    std::memcpy(first, second, static_cast<std::size_t>(count) * sizeof(std::int64_t));
  }
};

template <typename T>
struct FoldMoments {
  static void init(void* first, void* second, std::int64_t count) {
    std::fill_n(static_cast<double*>(first), count, 0.0);
    std::fill_n(static_cast<double*>(second), count, 0.0);
  }
  static void add(void* first, void* second, const void* tile, int step, std::int64_t position,
                  std::int64_t count) {
    double* mean = static_cast<double*>(first);
    double* square = static_cast<double*>(second);
    const T* x = static_cast<const T*>(tile);
    const double weight = 1.0 / static_cast<double>(position + 1);
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = x[i * step];
      const double delta = value - mean[i];
      mean[i] += delta * weight;
      square[i] += delta * (value - mean[i]);
    }
  }
  static void finish(void* first, void* second, std::int64_t elements, std::int64_t count) {
    const double* mean = static_cast<const double*>(first);
    const double* square = static_cast<const double*>(second);
    for (std::int64_t i = 0; i < count; ++i) {
      const T m = elements == 0 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(mean[i]);
      const T s = static_cast<T>(square[i]);
      std::memcpy(static_cast<T*>(first) + i, &m, sizeof(T));
      std::memcpy(static_cast<T*>(second) + i, &s, sizeof(T));
    }
  }
};

template <class R>
RowReduction row_of() {
  return {R::init, R::add, R::merge, R::finish};
}
template <class R>
FoldReduction fold_of() {
  return {R::init, R::add, R::finish};
}

template <typename T>
void fill_type(ReduceTable& table, TileType type) {
  using ir::ReduceOp;
  const auto row = [&](ReduceOp op) -> RowReduction& {
    return table.row[static_cast<int>(op)][static_cast<int>(type)];
  };
  const auto fold = [&](ReduceOp op) -> FoldReduction& {
    return table.fold[static_cast<int>(op)][static_cast<int>(type)];
  };
  if constexpr (sizeof(T) > 1) {
    row(ReduceOp::kSum) = row_of<Row<Sum, T>>();
    fold(ReduceOp::kSum) = fold_of<Fold<Sum, T>>();
    row(ReduceOp::kProduct) = row_of<Row<Product, T>>();
    fold(ReduceOp::kProduct) = fold_of<Fold<Product, T>>();
  }
  row(ReduceOp::kMin) = row_of<Row<Extreme<false>, T>>();
  fold(ReduceOp::kMin) = fold_of<Fold<Extreme<false>, T>>();
  row(ReduceOp::kMax) = row_of<Row<Extreme<true>, T>>();
  fold(ReduceOp::kMax) = fold_of<Fold<Extreme<true>, T>>();
  row(ReduceOp::kArgMin) = row_of<RowArg<false, T>>();
  fold(ReduceOp::kArgMin) = fold_of<FoldArg<false, T>>();
  row(ReduceOp::kArgMax) = row_of<RowArg<true, T>>();
  fold(ReduceOp::kArgMax) = fold_of<FoldArg<true, T>>();
  if constexpr (kIsFloat<T>) {
    row(ReduceOp::kMoments) = row_of<RowMoments<T>>();
    fold(ReduceOp::kMoments) = fold_of<FoldMoments<T>>();
  }
}

}  // namespace

void fill_reduce(ReduceTable& table) {
  using ir::ReduceOp;
  fill_type<std::uint8_t>(table, TileType::kBool);
  fill_type<std::int32_t>(table, TileType::kInt32);
  fill_type<std::int64_t>(table, TileType::kInt64);
  fill_type<std::uint64_t>(table, TileType::kUInt64);
  fill_type<float>(table, TileType::kFloat32);
  fill_type<double>(table, TileType::kFloat64);
  // Bytes 0 and 1: any is the largest, all the smallest.
  for (const auto& [logic, extreme] :
       {std::pair{ReduceOp::kAny, ReduceOp::kMax}, std::pair{ReduceOp::kAll, ReduceOp::kMin},
        std::pair{ReduceOp::kSum, ReduceOp::kMax}, std::pair{ReduceOp::kProduct, ReduceOp::kMin}}) {
    table.row[static_cast<int>(logic)][0] = table.row[static_cast<int>(extreme)][0];
    table.fold[static_cast<int>(logic)][0] = table.fold[static_cast<int>(extreme)][0];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(fill_reduce);
const ReduceTable& reduce_table() {
  static const ReduceTable table = [] {
    ReduceTable result;
    HWY_DYNAMIC_DISPATCH(fill_reduce)(result);
    return result;
  }();
  return table;
}
}  // namespace tendon::backends::cpu
#endif
