#include "picture.h"

#include <png.h>

#include <array>
#include <cstddef>

namespace reacher {
namespace {

using Pixel = std::array<std::uint8_t, 3>;
constexpr Pixel kPaper{255, 255, 255};
constexpr Pixel kLine{190, 190, 190};
constexpr Pixel kReached{40, 150, 70};
constexpr Pixel kMissed{210, 30, 30};
constexpr int kMargin = 8;
constexpr int kBorder = 3;
constexpr std::array kMoments = {0, kReplan, kSteps};  // steps done when the arm is drawn
constexpr int kColumns = kMoments.size();

void fill(Picture& picture, int top, int left, int height, int width, Pixel pixel) {
  for (int row = top; row < top + height; ++row) {
    for (int column = left; column < left + width; ++column) {
      for (int c = 0; c < 3; ++c) {
        picture.bytes[(static_cast<std::size_t>(row) * picture.width + column) * 3 + c] = pixel[c];
      }
    }
  }
}

void paste(Picture& picture, int top, int left, const Image& image) {
  for (int row = 0; row < image.height; ++row) {
    for (int column = 0; column < image.width; ++column) {
      for (int c = 0; c < 3; ++c) {
        picture
            .bytes[(static_cast<std::size_t>(top + row) * picture.width + left + column) * 3 + c] =
            image.bytes[(static_cast<std::size_t>(c) * image.height + row) * image.width + column];
      }
    }
  }
}

}  // namespace

Picture contact_sheet(std::span<const Episode> episodes, int magnification) {
  const int cell_height = kImageHeight * magnification + 2 * kBorder;
  const int cell_width = kImageWidth * magnification + 2 * kBorder;
  const int rows = static_cast<int>(episodes.size());
  Picture picture;
  picture.height = kMargin + rows * (cell_height + kMargin);
  picture.width = kMargin + kColumns * (cell_width + kMargin);
  picture.bytes.resize(static_cast<std::size_t>(picture.height) * picture.width * 3);
  fill(picture, 0, 0, picture.height, picture.width, kPaper);
  for (int row = 0; row < rows; ++row) {
    const Episode& episode = episodes[row];
    for (int column = 0; column < kColumns; ++column) {
      const int top = kMargin + row * (cell_height + kMargin);
      const int left = kMargin + column * (cell_width + kMargin);
      const bool last = column == kColumns - 1;
      const Pixel outcome = episode.reached() ? kReached : kMissed;
      fill(picture, top, left, cell_height, cell_width, last ? outcome : kLine);
      paste(picture, top + kBorder, left + kBorder,
            render(episode.path[kMoments[column]], episode.scene.red, episode.scene.green,
                   magnification));
    }
  }
  return picture;
}

tendon::Status write_png(const Picture& picture, const std::string& path) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(picture.width);
  header.height = static_cast<png_uint_32>(picture.height);
  header.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&header, path.c_str(), 0, picture.bytes.data(), 0, nullptr) == 0) {
    return {tendon::StatusCode::kInvalidArgument,
            "cannot write the picture to '" + path + "': " + header.message};
  }
  return {};
}

}  // namespace reacher
