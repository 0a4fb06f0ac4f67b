// Spans as a file that Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "base/trace.h"

namespace tendon::tools {

/// JSON in the Trace Event Format: complete events, in microseconds from the earliest span.
std::string chrome_trace(const std::vector<base::TraceSpan>& spans);

}  // namespace tendon::tools
