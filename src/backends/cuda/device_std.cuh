// The part of the standard library that scalar_math.h, special_functions.cpp and philox.h use, for
// device code: NVRTC has none of its own. Stands for <bit>, <cmath>, <limits> and the like.
#pragma once

using size_t = decltype(sizeof(0));

namespace std {

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using size_t = ::size_t;

// --- types ---------------------------------------------------------------------------------------

template <typename A, typename B>
inline constexpr bool is_same_v = false;
template <typename A>
inline constexpr bool is_same_v<A, A> = true;
template <typename A, typename B>
concept same_as = is_same_v<A, B>;

template <bool condition, typename A, typename B>
struct conditional {
  using type = A;
};
template <typename A, typename B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool condition, typename A, typename B>
using conditional_t = typename conditional<condition, A, B>::type;

template <typename T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <typename T>
inline constexpr bool is_integral_v =
    is_same_v<T, bool> || is_same_v<T, char> || is_same_v<T, int8_t> || is_same_v<T, int16_t> ||
    is_same_v<T, int32_t> || is_same_v<T, long> || is_same_v<T, int64_t> || is_same_v<T, uint8_t> ||
    is_same_v<T, uint16_t> || is_same_v<T, uint32_t> || is_same_v<T, unsigned long> ||
    is_same_v<T, uint64_t>;
template <typename T>
inline constexpr bool is_signed_v = T(-1) < T(0);
template <typename T>
concept floating_point = is_floating_point_v<T>;
template <typename T>
concept integral = is_integral_v<T>;

template <typename T>
struct make_unsigned;
template <>
struct make_unsigned<int8_t> {
  using type = uint8_t;
};
template <>
struct make_unsigned<int16_t> {
  using type = uint16_t;
};
template <>
struct make_unsigned<int32_t> {
  using type = uint32_t;
};
template <>
struct make_unsigned<int64_t> {
  using type = uint64_t;
};
template <>
struct make_unsigned<uint8_t> {
  using type = uint8_t;
};
template <>
struct make_unsigned<uint16_t> {
  using type = uint16_t;
};
template <>
struct make_unsigned<uint32_t> {
  using type = uint32_t;
};
template <>
struct make_unsigned<uint64_t> {
  using type = uint64_t;
};
template <typename T>
using make_unsigned_t = typename make_unsigned<T>::type;

template <typename To, typename From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

// --- limits --------------------------------------------------------------------------------------

template <typename T>
struct numeric_limits {
  static constexpr T max() {
    if constexpr (is_same_v<T, bool>) {
      return true;
    } else if constexpr (is_signed_v<T>) {
      return static_cast<T>((uint64_t(1) << (8 * sizeof(T) - 1)) - 1);
    } else {
      return static_cast<T>(~uint64_t(0));
    }
  }
  static constexpr T min() {
    if constexpr (is_signed_v<T> && !is_same_v<T, bool>) {
      return static_cast<T>(-max() - 1);
    } else {
      return T(0);
    }
  }
  static constexpr T lowest() { return min(); }
};
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return bit_cast<float>(0x7f800000u); }
  static constexpr float quiet_NaN() { return bit_cast<float>(0x7fc00000u); }
  static constexpr float epsilon() { return 0x1p-23f; }
  static constexpr float min() { return 0x1p-126f; }
  static constexpr float max() { return 0x1.fffffep127f; }
  static constexpr float lowest() { return -max(); }
};
template <>
struct numeric_limits<double> {
  static constexpr double infinity() { return bit_cast<double>(0x7ff0000000000000ull); }
  static constexpr double quiet_NaN() { return bit_cast<double>(0x7ff8000000000000ull); }
  static constexpr double epsilon() { return 0x1p-52; }
  static constexpr double min() { return 0x1p-1022; }
  static constexpr double max() { return 0x1.fffffffffffffp1023; }
  static constexpr double lowest() { return -max(); }
};

// --- numbers -------------------------------------------------------------------------------------

namespace numbers {
template <typename T>
inline constexpr T pi_v = T(3.141592653589793);
inline constexpr double pi = pi_v<double>;
inline constexpr double inv_sqrtpi = 0.5641895835477563;
inline constexpr double egamma = 0.5772156649015329;
inline constexpr double ln2 = 0.6931471805599453;
}  // namespace numbers

template <typename T>
constexpr T gcd(T a, T b) {
  while (b != 0) {
    const T rest = static_cast<T>(a % b);
    a = b;
    b = rest;
  }
  return a;
}
template <typename T>
constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}
template <typename T>
constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}

template <typename T, size_t n>
struct array {
  T elements[n];
  constexpr T& operator[](size_t i) { return elements[i]; }
  constexpr const T& operator[](size_t i) const { return elements[i]; }
  constexpr T* begin() { return elements; }
  constexpr T* end() { return elements + n; }
  constexpr const T* begin() const { return elements; }
  constexpr const T* end() const { return elements + n; }
  constexpr size_t size() const { return n; }
};

// --- <cmath> -------------------------------------------------------------------------------------

#define TENDON_ONE_ARGUMENT(name)                     \
  inline float name(float x) { return ::name##f(x); } \
  inline double name(double x) { return ::name(x); }  \
  inline long double name(long double x) { return ::name(static_cast<double>(x)); }
TENDON_ONE_ARGUMENT(fabs)
TENDON_ONE_ARGUMENT(floor)
TENDON_ONE_ARGUMENT(ceil)
TENDON_ONE_ARGUMENT(trunc)
TENDON_ONE_ARGUMENT(nearbyint)
TENDON_ONE_ARGUMENT(round)
TENDON_ONE_ARGUMENT(sqrt)
TENDON_ONE_ARGUMENT(exp)
TENDON_ONE_ARGUMENT(exp2)
TENDON_ONE_ARGUMENT(expm1)
TENDON_ONE_ARGUMENT(log)
TENDON_ONE_ARGUMENT(log2)
TENDON_ONE_ARGUMENT(log10)
TENDON_ONE_ARGUMENT(log1p)
TENDON_ONE_ARGUMENT(sin)
TENDON_ONE_ARGUMENT(cos)
TENDON_ONE_ARGUMENT(tan)
TENDON_ONE_ARGUMENT(asin)
TENDON_ONE_ARGUMENT(acos)
TENDON_ONE_ARGUMENT(atan)
TENDON_ONE_ARGUMENT(sinh)
TENDON_ONE_ARGUMENT(cosh)
TENDON_ONE_ARGUMENT(tanh)
TENDON_ONE_ARGUMENT(asinh)
TENDON_ONE_ARGUMENT(acosh)
TENDON_ONE_ARGUMENT(atanh)
TENDON_ONE_ARGUMENT(erf)
TENDON_ONE_ARGUMENT(erfc)
TENDON_ONE_ARGUMENT(tgamma)
#undef TENDON_ONE_ARGUMENT

#define TENDON_TWO_ARGUMENTS(name)                                \
  inline float name(float x, float y) { return ::name##f(x, y); } \
  inline double name(double x, double y) { return ::name(x, y); }
TENDON_TWO_ARGUMENTS(fmod)
TENDON_TWO_ARGUMENTS(pow)
TENDON_TWO_ARGUMENTS(atan2)
TENDON_TWO_ARGUMENTS(hypot)
TENDON_TWO_ARGUMENTS(copysign)
TENDON_TWO_ARGUMENTS(nextafter)
#undef TENDON_TWO_ARGUMENTS

inline bool isnan(float x) { return x != x; }
inline bool isnan(double x) { return x != x; }
inline long double pow(long double x, long double y) {
  return ::pow(static_cast<double>(x), static_cast<double>(y));
}
inline bool isfinite(float x) { return ::fabsf(x) < numeric_limits<float>::infinity(); }
inline bool isfinite(double x) { return ::fabs(x) < numeric_limits<double>::infinity(); }
inline bool isinf(float x) { return ::fabsf(x) == numeric_limits<float>::infinity(); }
inline bool isinf(double x) { return ::fabs(x) == numeric_limits<double>::infinity(); }

}  // namespace std

// The sign is that of gamma(x); nobody asks for it.
inline double lgamma_r(double x, int* sign) {
  *sign = 1;
  return ::lgamma(x);
}
inline long double lgammal_r(long double x, int* sign) {
  return lgamma_r(static_cast<double>(x), sign);
}
