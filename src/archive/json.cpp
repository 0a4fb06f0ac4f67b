#include "archive/json.h"

#include <rapidjson/error/en.h>

namespace tendon::archive {

void parse_json(rapidjson::Document& document, std::string_view text) {
  constexpr unsigned kFlags = rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag |
                              rapidjson::kParseFullPrecisionFlag;
  document.Parse<kFlags>(text.data(), text.size());
  if (document.HasParseError()) {
    throw FormatError(std::string("not JSON: ") +
                      rapidjson::GetParseError_En(document.GetParseError()) + " (byte " +
                      std::to_string(document.GetErrorOffset()) + ")");
  }
}

}  // namespace tendon::archive
