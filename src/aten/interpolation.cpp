#include "aten/interpolation.h"

namespace tendon::aten {

Expr interpolate(const std::vector<Taps>& axes,
                 const std::function<Expr(const Indices&)>& element) {
  Indices positions;
  const std::function<Expr(std::size_t)> along = [&](std::size_t axis) -> Expr {
    if (axis == axes.size()) return element(positions);
    std::optional<Expr> sum;
    for (const Tap& tap : axes[axis]) {
      positions.push_back(tap.position);
      const Expr value = along(axis + 1);
      positions.pop_back();
      if (axes[axis].size() == 1) return value;
      sum = sum ? *sum + value * tap.weight : value * tap.weight;
    }
    return *sum;
  };
  return along(0);
}

std::vector<Expr> cubic_weights(Expr t, double a) {
  // Keys' kernel on [0, 1] and on (1, 2].
  const auto near = [&](Expr x) { return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0; };
  const auto far = [&](Expr x) { return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a; };
  const Expr rest = 1.0 - t;
  return {far(t + 1.0), near(t), near(rest), far(rest + 1.0)};
}

}  // namespace tendon::aten
