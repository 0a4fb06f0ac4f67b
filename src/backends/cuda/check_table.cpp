#include "backends/cuda/check_table.h"

namespace tendon::backends::cuda {

namespace {

void replace(std::string& text, const std::string& word, std::int64_t value) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word))
    text.replace(at, word.size(), std::to_string(value));
}

}  // namespace

Status CheckTable::status(int number, std::int64_t value, std::int64_t size) const {
  if (number < 0 || static_cast<std::size_t>(number) >= checks_.size())
    return Status(StatusCode::kInternal, "a kernel reports a check that nobody made");
  const Check& check = checks_[static_cast<std::size_t>(number)];
  std::string message = check.message;
  replace(message, "{index}", value);
  replace(message, "{size}", size);
  return Status(check.code, std::move(message)).with_context(check.origin);
}

}  // namespace tendon::backends::cuda
