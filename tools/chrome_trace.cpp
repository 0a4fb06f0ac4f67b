#include "chrome_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tendon::tools {

std::string chrome_trace(const std::vector<base::TraceSpan>& spans) {
  using Json = nlohmann::ordered_json;
  std::int64_t origin = spans.empty() ? 0 : spans.front().begin_ns;
  for (const base::TraceSpan& span : spans) origin = std::min(origin, span.begin_ns);
  auto events = Json::array();
  for (const base::TraceSpan& span : spans) {
    Json event = {{"name", span.name},
                  {"cat", span.category},
                  {"ph", "X"},
                  {"ts", static_cast<double>(span.begin_ns - origin) * 1e-3},
                  {"dur", static_cast<double>(span.duration_ns) * 1e-3},
                  {"pid", 1},
                  {"tid", span.thread}};
    if (!span.arguments.empty()) {
      for (const auto& [key, value] : span.arguments) event["args"][key] = value;
    }
    events.push_back(std::move(event));
  }
  const Json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  // Names come from the program's file and may be any bytes.
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tendon::tools
