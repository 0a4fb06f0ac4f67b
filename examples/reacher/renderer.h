// What the camera sees.
#pragma once

#include <cstdint>
#include <vector>

#include "arm.h"

namespace reacher {

inline constexpr int kImageHeight = 96;
inline constexpr int kImageWidth = 128;

/// An RGB image, one plane a colour: the byte of colour c at row y, column x is
/// bytes[(c * height + y) * width + x].
struct Image {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> bytes;
};

/// Draws discs and arm, anti-aliased. Magnification 1 gives the image that policies were trained on
/// (kImageHeight by kImageWidth, 64 pixels a metre, the base at row 84, column 64); a larger one
/// draws the same view with more pixels.
Image render(Angles angles, Point red, Point green, int magnification = 1);

}  // namespace reacher
