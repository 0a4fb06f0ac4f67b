// A picture of some episodes for people to look at.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "episode.h"
#include "tendon/status.h"

namespace reacher {

/// RGB, one byte a colour, pixel after pixel.
struct Picture {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> bytes;
};

/// One row an episode: the arm at its start, after what the first decision made it do, and at its
/// end; the last is framed in green if the tip reached the red disc and in red if it did not.
Picture contact_sheet(std::span<const Episode> episodes, int magnification);

/// Errors: InvalidArgument (the file cannot be written).
tendon::Status write_png(const Picture& picture, const std::string& path);

}  // namespace reacher
