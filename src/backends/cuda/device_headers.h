// The files that device code includes, by the name that it includes them by.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tendon::backends::cuda {

const std::vector<std::pair<std::string, std::string>>& device_headers();

}  // namespace tendon::backends::cuda
