#include "renderer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace reacher {
namespace {

constexpr float kPixelsPerMetre = 64;
constexpr float kBaseRow = 84;
constexpr float kBaseColumn = 64;

struct Colour {
  float red, green, blue;
};
constexpr Colour kBackground{235, 235, 230};
constexpr Colour kGreenDisc{60, 160, 80};
constexpr Colour kRedDisc{200, 40, 40};
constexpr Colour kLink{40, 60, 120};
constexpr Colour kJoint{30, 30, 40};
constexpr Colour kTip{250, 180, 40};

/// Signed distance to a disc, negative inside.
struct Disc {
  Point centre;
  float radius;
  float operator()(float x, float y) const {
    const float dx = x - centre.x;
    const float dy = y - centre.y;
    return std::sqrt(dx * dx + dy * dy) - radius;
  }
};

/// Signed distance to all that is no further than `radius` from the line between two points.
struct Capsule {
  Point from, to;
  float radius;
  float operator()(float x, float y) const {
    const float px = x - from.x;
    const float py = y - from.y;
    const float vx = to.x - from.x;
    const float vy = to.y - from.y;
    const float along = std::clamp((px * vx + py * vy) / (vx * vx + vy * vy), 0.0F, 1.0F);
    const float dx = px - along * vx;
    const float dy = py - along * vy;
    return std::sqrt(dx * dx + dy * dy) - radius;
  }
};

class Canvas {
 public:
  explicit Canvas(int magnification)
      : height_(kImageHeight * magnification),
        width_(kImageWidth * magnification),
        magnification_(static_cast<float>(magnification)),
        values_(3 * plane()) {
    const float background[] = {kBackground.red, kBackground.green, kBackground.blue};
    for (std::size_t c = 0; c < 3; ++c) {
      std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(c * plane()), plane(),
                  background[c]);
    }
  }

  /// Blends the colour in by how much of each pixel the shape covers.
  template <typename Shape>
  void draw(const Shape& shape, Colour colour) {
    const float scale = kPixelsPerMetre * magnification_;
    for (int row = 0; row < height_; ++row) {
      const float y = (kBaseRow * magnification_ - (static_cast<float>(row) + 0.5F)) / scale;
      float* red = values_.data() + static_cast<std::size_t>(row) * width_;
      float* green = red + plane();
      float* blue = green + plane();
      for (int column = 0; column < width_; ++column) {
        const float x = (static_cast<float>(column) + 0.5F - kBaseColumn * magnification_) / scale;
        const float coverage = std::clamp(0.5F - scale * shape(x, y), 0.0F, 1.0F);
        red[column] += coverage * (colour.red - red[column]);
        green[column] += coverage * (colour.green - green[column]);
        blue[column] += coverage * (colour.blue - blue[column]);
      }
    }
  }

  Image to_image() const {
    Image image{height_, width_, std::vector<std::uint8_t>(values_.size())};
    std::transform(values_.begin(), values_.end(), image.bytes.begin(),
                   [](float value) { return static_cast<std::uint8_t>(std::floor(value + 0.5F)); });
    return image;
  }

 private:
  std::size_t plane() const { return static_cast<std::size_t>(height_) * width_; }

  int height_;
  int width_;
  float magnification_;
  std::vector<float> values_;
};

}  // namespace

Image render(Angles angles, Point red, Point green, int magnification) {
  const Point base{};
  const Pose pose = kinematics(angles);
  Canvas canvas(magnification);
  canvas.draw(Disc{green, 0.06F}, kGreenDisc);
  canvas.draw(Disc{red, 0.06F}, kRedDisc);
  canvas.draw(Capsule{base, pose.elbow, 0.025F}, kLink);
  canvas.draw(Capsule{pose.elbow, pose.tip, 0.025F}, kLink);
  canvas.draw(Disc{base, 0.04F}, kJoint);
  canvas.draw(Disc{pose.elbow, 0.04F}, kJoint);
  canvas.draw(Disc{pose.tip, 0.03F}, kTip);
  return canvas.to_image();
}

}  // namespace reacher
