#include "verdict.h"

#include <exception>

#include "archive/load.h"
#include "tensor/compare.h"

namespace tendon::conformance {

namespace {

std::string label(std::size_t call, std::size_t calls, std::int64_t position) {
  const std::string output = "output." + std::to_string(position);
  return calls == 1 ? output : "call " + std::to_string(call) + ", " + output;
}

/// The type with the fewest digits among the program's tensors and `dtype`: what a program computes
/// in bfloat16 is no better for being returned as float32.
DType coarsest_type(const Case& test, DType dtype) {
  const auto program = archive::read_program(*test.program, test.program, test.name);
  if (!program.ok()) return dtype;
  const auto absolute = [](DType type) { return tensor::default_tolerance(type).absolute; };
  for (const auto& [name, meta] : program->graph.tensors) {
    if (absolute(meta.dtype) > absolute(dtype)) dtype = meta.dtype;
  }
  return dtype;
}

/// Empty: as expected.
std::string difference(const Case& test, const Tensor& got, const tools::ExpectedOutput& expected,
                       Strictness strictness) {
  const DType dtype = expected.values.dtype();
  if (!strictness.values) {
    const bool alike = got.dtype() == dtype && got.sizes() == expected.values.sizes();
    return alike ? "" : got.view().to_string() + ", expected " + expected.values.view().to_string();
  }
  const TensorView wanted = expected.values.view();
  auto comparison = tensor::compare(got.view(), wanted, tensor::default_tolerance(dtype));
  if (comparison.ok() && !comparison->ok() && is_floating(dtype)) {
    comparison =
        tensor::compare(got.view(), wanted, tensor::default_tolerance(coarsest_type(test, dtype)));
  }
  if (!comparison.ok()) return comparison.status().message();
  if (!comparison->ok()) {
    return std::to_string(comparison->mismatches) + " of " + std::to_string(comparison->elements) +
           " elements differ, first at " + tools::strides_text(*comparison->first_mismatch) +
           ": got " + comparison->got + ", expected " + comparison->expected;
  }
  if (strictness.strides && expected.strides &&
      !tools::strides_agree(got.sizes(), got.strides(), *expected.strides)) {
    return "strides " + tools::strides_text(got.strides()) + ", expected " +
           tools::strides_text(*expected.strides);
  }
  return "";
}

/// Empty: all outputs are as expected.
std::string compare_outputs(const Case& test, const std::vector<Output>& outputs, const Call& call,
                            std::size_t number, std::size_t calls, Strictness strictness) {
  auto left = call.expected;
  for (const Output& output : outputs) {
    const auto expected = left.find(output.position);
    if (expected == left.end()) {
      // A number in PyTorch, which no case holds, is a 0-d tensor here.
      if (output.tensor.sizes().empty()) continue;
      return label(number, calls, output.position) + ": not expected";
    }
    if (const std::string what = difference(test, output.tensor, expected->second, strictness);
        !what.empty()) {
      return label(number, calls, output.position) + ": " + what;
    }
    left.erase(expected);
  }
  return left.empty() ? "" : label(number, calls, left.begin()->first) + ": not there";
}

Verdict failure(const Status& status) {
  return {status.code() == StatusCode::kUnimplemented ? Verdict::Kind::kMissing
                                                      : Verdict::Kind::kFailed,
          status.to_string()};
}

Verdict run_calls(const Case& test, OpenSession open_session, Strictness strictness) {
  auto session = open_session(test);
  if (!session.ok()) return failure(session.status());
  for (std::size_t i = 0; i < test.calls.size(); ++i) {
    const auto call = test.call(i);
    if (!call.ok()) return failure(call.status());
    if (call->expected.empty()) return {Verdict::Kind::kFailed, "the case holds no outputs"};
    const auto outputs = (*session)->run(call->inputs);
    if (!outputs.ok()) return failure(outputs.status());
    std::string what = compare_outputs(test, *outputs, *call, i, test.calls.size(), strictness);
    if (!what.empty()) return {Verdict::Kind::kFailed, std::move(what)};
  }
  return {};
}

}  // namespace

Verdict run_case(const Case& test, OpenSession open_session, Strictness strictness) {
  try {
    return run_calls(test, open_session, strictness);
  } catch (const std::exception& exception) {
    return {Verdict::Kind::kFailed, std::string("exception: ") + exception.what()};
  }
}

}  // namespace tendon::conformance
