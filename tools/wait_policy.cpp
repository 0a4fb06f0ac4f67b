#include "wait_policy.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/parallel.h"

namespace tendon::tools {

void choose_wait_policy(char** arguments) {
  constexpr const char* kSpins = "GOMP_SPINCOUNT";
  if (std::getenv(kSpins) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  const int woken = std::max(1, base::default_threads() - 1);
  if (::setenv(kSpins, std::to_string(1000 * woken).c_str(), 0) == 0)
    ::execv("/proc/self/exe", arguments);
}

}  // namespace tendon::tools
