#include "case_file.h"

#include <algorithm>
#include <charconv>

#include "base/status_macros.h"

namespace tendon::tools {

namespace {

// N of "PREFIX.N".
std::optional<std::int64_t> number_of(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix + ".")) return std::nullopt;
  const char* begin = name.data() + prefix.size() + 1;
  const char* end = name.data() + name.size();
  std::int64_t number = 0;
  const auto [rest, failure] = std::from_chars(begin, end, number);
  if (failure != std::errc() || rest != end || number < 0) return std::nullopt;
  // Not "input.00": two tensors would be the same input.
  return name == prefix + "." + std::to_string(number) ? std::optional(number) : std::nullopt;
}

// Whether the elements fill one piece of memory, each place once, in some order of the axes.
bool is_dense(const Sizes& sizes, const Sizes& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, size
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] != 1) axes.emplace_back(strides[axis], sizes[axis]);
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : axes) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

}  // namespace

std::map<std::int64_t, Tensor> numbered_tensors(const tensor::TensorFile& file,
                                                const std::string& prefix) {
  std::map<std::int64_t, Tensor> found;
  for (const auto& [name, tensor] : file.tensors) {
    if (const auto number = number_of(name, prefix)) found.emplace(*number, tensor);
  }
  return found;
}

std::string strides_text(std::span<const std::int64_t> strides) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    if (axis != 0) text += ", ";
    text += std::to_string(strides[axis]);
  }
  return text + "]";
}

Result<Sizes> parse_strides(const std::string& text) {
  const Status malformed(StatusCode::kDataLoss,
                         "'" + text + "' are no strides, expected a list like [12, 4, 1]");
  const char* position = text.data();
  const char* end = position + text.size();
  const auto skip_spaces = [&] {
    while (position != end && *position == ' ') ++position;
  };
  const auto take = [&](char expected) {
    skip_spaces();
    if (position == end || *position != expected) return false;
    ++position;
    return true;
  };
  Sizes strides;
  if (!take('[')) return malformed;
  while (!take(']')) {
    if (!strides.empty() && !take(',')) return malformed;
    skip_spaces();
    std::int64_t stride = 0;
    const auto [rest, failure] = std::from_chars(position, end, stride);
    if (failure != std::errc()) return malformed;
    position = rest;
    strides.push_back(stride);
  }
  skip_spaces();
  if (position != end) return malformed;
  return strides;
}

std::string output_name(const TensorInfo& info) {
  return "output." + std::to_string(info.position);
}

Status write_outputs(const std::string& path, const std::vector<TensorInfo>& infos,
                     std::span<const TensorView> outputs) {
  std::vector<tensor::NamedView> tensors;
  std::map<std::string, std::string> metadata;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = output_name(infos[i]);
    tensors.push_back({name, outputs[i]});
    metadata[name] = strides_text(outputs[i].strides);
  }
  return tensor::write_tensor_file(path, tensors, metadata);
}

Result<std::map<std::int64_t, ExpectedOutput>> expected_outputs(const tensor::TensorFile& file) {
  std::map<std::int64_t, ExpectedOutput> expected;
  for (const auto& [number, values] : numbered_tensors(file, "output")) {
    ExpectedOutput& output = expected[number];
    output.values = values;
    const std::string name = "output." + std::to_string(number);
    const auto text = file.metadata.find(name);
    if (text == file.metadata.end()) continue;
    auto strides = parse_strides(text->second);
    if (!strides.ok()) return strides.status().with_context("metadata '" + name + "'");
    if (strides->size() != values.sizes().size()) {
      return Status(StatusCode::kDataLoss, "metadata '" + name + "': strides " + text->second +
                                               " for a tensor of " +
                                               std::to_string(values.sizes().size()) + " axes");
    }
    output.strides = std::move(*strides);
  }
  return expected;
}

bool strides_agree(const Sizes& sizes, const Sizes& strides, const Sizes& expected) {
  if (element_count(sizes) == 0) return true;
  if (!is_dense(sizes, expected)) return is_dense(sizes, strides);
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > 1 && strides[axis] != expected[axis]) return false;
  }
  return true;
}

}  // namespace tendon::tools
