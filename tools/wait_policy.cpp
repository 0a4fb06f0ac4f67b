#include "wait_policy.h"

#include <unistd.h>

#include <cstdlib>

namespace tendon::tools {

void choose_wait_policy(char** arguments) {
  constexpr const char* kSpins = "GOMP_SPINCOUNT";
  if (std::getenv(kSpins) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (::setenv(kSpins, "1000", 0) == 0) ::execv("/proc/self/exe", arguments);
}

}  // namespace tendon::tools
