#include "suite.h"

#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "minizip/unzip.h"
#include "tensor/safetensors.h"

namespace tendon::conformance {

namespace {

constexpr std::string_view kProgramSuffix = ".pt2";
constexpr std::string_view kCallSuffix = ".safetensors";

Result<std::map<std::string, Bytes>> read_members(const std::string& path) {
  const std::unique_ptr<void, int (*)(void*)> zip(unzOpen64(path.c_str()), unzClose);
  if (zip == nullptr) return Status(StatusCode::kNotFound, path + ": no such zip archive");
  std::map<std::string, Bytes> members;
  for (int next = unzGoToFirstFile(zip.get()); next == UNZ_OK; next = unzGoToNextFile(zip.get())) {
    unz_file_info64 info{};
    char name[512] = {};
    if (unzGetCurrentFileInfo64(zip.get(), &info, name, sizeof(name), nullptr, 0, nullptr, 0) !=
            UNZ_OK ||
        unzOpenCurrentFile(zip.get()) != UNZ_OK) {
      return Status(StatusCode::kDataLoss, path + ": broken member " + name);
    }
    auto bytes = std::make_shared<std::vector<std::byte>>(info.uncompressed_size);
    const int read =
        unzReadCurrentFile(zip.get(), bytes->data(), static_cast<unsigned>(info.uncompressed_size));
    if (unzCloseCurrentFile(zip.get()) != UNZ_OK ||
        read != static_cast<int>(info.uncompressed_size)) {
      return Status(StatusCode::kDataLoss, path + ": broken member " + name);
    }
    members.emplace(name, std::move(bytes));
  }
  return members;
}

}  // namespace

std::string Case::subject() const { return name.substr(0, name.find('.')); }

Result<Call> Case::call(std::size_t i) const {
  TENDON_ASSIGN_OR_RETURN(const tensor::TensorFile file,
                          tensor::parse_safetensors(*calls[i], calls[i]));
  Call call;
  for (const auto& [number, tensor] : tools::numbered_tensors(file, "input")) {
    call.inputs.push_back(tensor);
  }
  TENDON_ASSIGN_OR_RETURN(call.expected, tools::expected_outputs(file));
  return call;
}

Result<std::vector<Case>> read_cases(const std::string& zip_path) {
  TENDON_ASSIGN_OR_RETURN(const auto members, read_members(zip_path));
  std::vector<Case> cases;
  for (const auto& [member, bytes] : members) {
    if (!member.ends_with(kProgramSuffix)) continue;
    Case test;
    test.name = member.substr(0, member.size() - kProgramSuffix.size());
    test.program = bytes;
    if (const auto only = members.find(test.name + std::string(kCallSuffix));
        only != members.end()) {
      test.calls.push_back(only->second);
    }
    for (int i = 0;; ++i) {
      const auto next =
          members.find(test.name + "." + std::to_string(i) + std::string(kCallSuffix));
      if (next == members.end()) break;
      test.calls.push_back(next->second);
    }
    if (test.calls.empty()) {
      return Status(StatusCode::kDataLoss, zip_path + ": " + member + " has no calls");
    }
    cases.push_back(std::move(test));
  }
  return cases;
}

Result<Case> case_of_files(const std::vector<std::string>& paths) {
  Case test;
  for (const std::string& path : paths) {
    TENDON_ASSIGN_OR_RETURN(const std::shared_ptr<base::MappedFile> file,
                            base::MappedFile::open(path));
    const auto bytes =
        std::make_shared<std::vector<std::byte>>(file->bytes().begin(), file->bytes().end());
    if (test.program == nullptr) {
      test.name = std::filesystem::path(path).stem().string();
      test.program = bytes;
    } else {
      test.calls.push_back(bytes);
    }
  }
  return test;
}

bool matches(const std::string& pattern, const std::string& text) {
  std::size_t p = 0, t = 0, star = std::string::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<HeldBack> HeldBack::read(const std::string& path, const std::string& engine) {
  std::ifstream file(path);
  if (!file) return Status(StatusCode::kNotFound, path + ": no such file");
  HeldBack held_back;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos || colon + 2 == line.size()) {
      return Status(StatusCode::kInvalidArgument,
                    path + ":" + std::to_string(number) + ": not \"PATTERN: reason\"");
    }
    std::string pattern = line.substr(0, colon);
    if (const std::size_t slash = pattern.find('/'); slash != std::string::npos) {
      if (pattern.substr(0, slash) != engine) continue;
      pattern.erase(0, slash + 1);
    }
    held_back.entries_.emplace_back(std::move(pattern), line.substr(colon + 2));
  }
  return held_back;
}

const std::string* HeldBack::reason(const std::string& name) const {
  for (const auto& [pattern, reason] : entries_) {
    if (matches(pattern, name)) return &reason;
  }
  return nullptr;
}

}  // namespace tendon::conformance
