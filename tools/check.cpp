// tendon check: a sequence of calls on one method, each compared with what was expected.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "case_file.h"
#include "inputs.h"
#include "options.h"
#include "progress.h"
#include "session.h"
#include "tensor/compare.h"

namespace tendon::tools {

namespace {

using Json = nlohmann::ordered_json;

struct Case {
  std::string path;
  Inputs inputs;
  std::map<std::int64_t, ExpectedOutput> expected;
};

struct OutputReport {
  std::string name;
  std::string got;  // "float32[2, 3]"
  std::vector<std::string> problems;
  std::optional<tensor::Comparison> comparison;
  Sizes strides;
  std::optional<Sizes> expected_strides;
};

struct CaseReport {
  std::string path;
  Status run;
  std::vector<OutputReport> outputs;
  bool ok() const {
    for (const OutputReport& output : outputs) {
      if (!output.problems.empty()) return false;
    }
    return run.ok();
  }
};

Result<Case> read_case(const std::string& path, const Program& program) {
  TENDON_ASSIGN_OR_RETURN(const tensor::TensorFile file, tensor::read_tensor_file(path));
  Case result;
  result.path = path;
  TENDON_ASSIGN_OR_RETURN(result.inputs, inputs_of_file(file, path, program.inputs()));
  auto expected = expected_outputs(file);
  if (!expected.ok()) return expected.status().with_context(path);
  result.expected = std::move(*expected);
  if (result.expected.empty()) {
    return Status(StatusCode::kInvalidArgument, path + " has no tensors called output.N");
  }
  return result;
}

OutputReport compare_output(const std::string& name, const TensorView& got,
                            const ExpectedOutput& expected, const CheckOptions& options) {
  OutputReport report;
  report.name = name;
  report.got = got.to_string();
  report.strides = got.strides;
  report.expected_strides = expected.strides;
  tensor::Tolerance tolerance = tensor::default_tolerance(got.dtype);
  if (options.relative) tolerance.relative = *options.relative;
  if (options.absolute) tolerance.absolute = *options.absolute;
  auto comparison = tensor::compare(got, expected.values.view(), tolerance);
  if (!comparison.ok()) {
    report.problems.push_back(comparison.status().message());
    return report;
  }
  if (!comparison->ok()) {
    report.problems.push_back(fmt::format(
        "{} of {} elements differ, first at {}: got {}, expected {}", comparison->mismatches,
        comparison->elements, strides_text(*comparison->first_mismatch), comparison->got,
        comparison->expected));
  }
  if (expected.strides && !strides_agree(got.sizes, got.strides, *expected.strides)) {
    report.problems.push_back(fmt::format("strides {}, expected {}", strides_text(got.strides),
                                          strides_text(*expected.strides)));
  }
  report.comparison = std::move(*comparison);
  return report;
}

CaseReport run_case(const Case& test, Session& session, const CheckOptions& options) {
  CaseReport report;
  report.path = test.path;
  const auto outputs = session.method.run(test.inputs.views());
  report.run = outputs.status();
  if (!outputs.ok()) return report;
  std::map<std::int64_t, ExpectedOutput> left = test.expected;
  const std::vector<TensorInfo>& infos = session.program.outputs();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const auto expected = left.find(infos[i].position);
    if (expected == left.end()) {
      // PyTorch returns a symbolic number as a number, which no case holds; here it is a 0-d
      // tensor.
      if (infos[i].axes.empty()) continue;
      OutputReport missing;
      missing.name = output_name(infos[i]);
      missing.got = (*outputs)[i].to_string();
      missing.problems.push_back("the case does not hold it");
      report.outputs.push_back(std::move(missing));
      continue;
    }
    report.outputs.push_back(
        compare_output(output_name(infos[i]), (*outputs)[i], expected->second, options));
    left.erase(expected);
  }
  for (const auto& [number, expected] : left) {
    OutputReport absent;
    absent.name = "output." + std::to_string(number);
    absent.problems.push_back("the program has no such output, expected " +
                              expected.values.view().to_string());
    report.outputs.push_back(std::move(absent));
  }
  return report;
}

void print_text(const CaseReport& report) {
  fmt::print("{}: {}\n", report.path, report.ok() ? "ok" : "FAILED");
  if (!report.run.ok()) fmt::print("  {}\n", report.run.to_string());
  for (const OutputReport& output : report.outputs) {
    fmt::print("  {}  {}", output.name, output.got);
    if (output.comparison) {
      fmt::print("  max error {:.3g} absolute, {:.3g} relative  mismatches {}  cosine {:.9f}",
                 output.comparison->max_absolute_error, output.comparison->max_relative_error,
                 output.comparison->mismatches, output.comparison->cosine_similarity);
    }
    fmt::print("\n");
    for (const std::string& problem : output.problems) fmt::print("    {}\n", problem);
  }
}

// Infinite errors become null: JSON has no infinity.
Json to_json(const OutputReport& output) {
  Json json = {
      {"name", output.name},
      {"ok", output.problems.empty()},
      {"tensor", output.got},
      {"problems", output.problems},
      {"strides", output.strides},
      {"expected_strides", output.expected_strides ? Json(*output.expected_strides) : Json()}};
  if (!output.comparison) return json;
  const tensor::Comparison& comparison = *output.comparison;
  json["elements"] = comparison.elements;
  json["mismatches"] = comparison.mismatches;
  json["max_absolute_error"] = comparison.max_absolute_error;
  json["max_relative_error"] = comparison.max_relative_error;
  json["cosine_similarity"] = comparison.cosine_similarity;
  json["first_mismatch"] = nullptr;
  if (comparison.first_mismatch) {
    json["first_mismatch"] = {{"index", *comparison.first_mismatch},
                              {"got", comparison.got},
                              {"expected", comparison.expected}};
  }
  return json;
}

Json to_json(const CaseReport& report) {
  auto outputs = Json::array();
  for (const OutputReport& output : report.outputs) outputs.push_back(to_json(output));
  return {{"case", report.path},
          {"ok", report.ok()},
          {"error", report.run.ok() ? Json() : Json(report.run.to_string())},
          {"outputs", std::move(outputs)}};
}

}  // namespace

int check(const CheckOptions& options) {
  int exit_code = kRight;
  auto session = open_session(options.session, exit_code);
  if (!session) return exit_code;
  std::vector<Case> cases;
  for (const std::string& path : options.cases) {
    auto test = read_case(path, session->program);
    if (!test.ok()) return fail(kBadUsage, test.status());
    cases.push_back(std::move(*test));
  }
  auto reports = Json::array();
  std::size_t right = 0;
  {
    const Progress progress(fmt::format("checking {} cases", cases.size()));
    for (const Case& test : cases) {
      const CaseReport report = run_case(test, *session, options);
      if (report.ok()) ++right;
      if (!report.ok() && exit_code == kRight) exit_code = kWrongResult;
      if (!report.run.ok()) exit_code = kRunFailed;
      if (options.json) {
        reports.push_back(to_json(report));
      } else {
        print_text(report);
      }
    }
  }
  if (options.json) {
    const Json result = {{"ok", exit_code == kRight},
                         {"program", options.session.path},
                         {"cases", std::move(reports)}};
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{} of {} cases right\n", right, cases.size());
  }
  return exit_code;
}

}  // namespace tendon::tools
