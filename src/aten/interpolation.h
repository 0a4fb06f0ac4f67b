// Interpolation between neighbouring elements, shared by image resizing and grid sampling.
#pragma once

#include <functional>
#include <vector>

#include "aten/builder.h"

namespace tendon::aten {

/// One element of an axis that an interpolated value is made of.
struct Tap {
  Expr position;  // int64
  Expr weight;    // of the type of the arithmetic
};
using Taps = std::vector<Tap>;

/// Sum over all combinations of one tap per axis of their weights times `element`, from the first
/// axis to the last, as PyTorch nests it. A single tap per axis is taken as it is.
Expr interpolate(const std::vector<Taps>& axes, const std::function<Expr(const Indices&)>& element);

/// The four weights of cubic convolution at a fraction t in [0, 1), for taps -1, 0, 1, 2.
std::vector<Expr> cubic_weights(Expr t, double a);

}  // namespace tendon::aten
