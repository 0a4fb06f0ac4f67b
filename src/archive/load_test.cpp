#include "archive/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace tendon::archive {
namespace {

using ::testing::HasSubstr;

const std::string kData = TENDON_TEST_DATA;

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

Result<Program> read(const std::string& bytes, const ReadOptions& options = {}) {
  // Of exactly that size, so that sanitizers see what reaches beyond.
  auto owner = std::make_shared<std::vector<std::byte>>(bytes.size());
  if (!bytes.empty()) std::memcpy(owner->data(), bytes.data(), bytes.size());
  return read_program(*owner, owner, "test", options);
}

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text.push_back(static_cast<char>(value));
  return text;
}

/// A zip archive of stored entries.
std::string zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string file, table;
  for (const auto& [name, content] : entries) {
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::string common = number(20, 2) + number(0, 8) + number(crc, 4) +
                               number(content.size(), 4) + number(content.size(), 4) +
                               number(name.size(), 2) + number(0, 2);
    table += "PK\x01\x02" + number(20, 2) + common + number(0, 10) + number(file.size(), 4) + name;
    file += "PK\x03\x04" + common + name + content;
  }
  return file + table + "PK\x05\x06" + number(0, 4) + number(entries.size(), 2) +
         number(entries.size(), 2) + number(table.size(), 4) + number(file.size(), 4) +
         number(0, 2);
}

std::string meta(const std::string& sizes, const std::string& strides,
                 const std::string& offset = "0", int dtype = 7) {
  const auto list = [](const std::string& values) {
    std::string text;
    for (std::size_t at = 0; at < values.size();) {
      const std::size_t end = std::min(values.find(' ', at), values.size());
      text += (text.empty() ? "" : ",") + ("{\"as_int\":" + values.substr(at, end - at) + "}");
      at = end + 1;
    }
    return "[" + text + "]";
  };
  return "{\"dtype\":" + std::to_string(dtype) + ",\"sizes\":" + list(sizes) +
         ",\"strides\":" + list(strides) + ",\"storage_offset\":{\"as_int\":" + offset +
         "},\"layout\":7,\"device\":{\"type\":\"cpu\",\"index\":null}}";
}

/// f(x) = x with one parameter w that nobody uses.
std::string program(const std::string& weight = meta("2", "1"), int major = 8) {
  return "{\"schema_version\":{\"major\":" + std::to_string(major) +
         ",\"minor\":1},\"graph_module\":{\"graph\":{\"inputs\":[{\"as_tensor\":{\"name\":\"p_w\"}}"
         ","
         "{\"as_tensor\":{\"name\":\"x\"}}],\"outputs\":[{\"as_tensor\":{\"name\":\"x\"}}],"
         "\"nodes\":[],\"tensor_values\":{\"p_w\":" +
         weight + ",\"x\":" + meta("2", "1") +
         "}},\"signature\":{\"input_specs\":[{\"parameter\":{\"arg\":{\"name\":\"p_w\"},"
         "\"parameter_name\":\"w\"}},{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}],"
         "\"output_specs\":[{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}]}}}";
}

std::string payload(const std::string& name, const std::string& tensor,
                    const std::string& file = "weight_0") {
  return "\"" + name + "\":{\"path_name\":\"" + file +
         "\",\"is_param\":true,\"use_pickle\":false,\"tensor_meta\":" + tensor + "}";
}

std::string archive(const std::string& payloads, const std::string& storage) {
  return zip({{"m/models/model.json", program()},
              {"m/data/weights/model_weights_config.json", "{\"config\":{" + payloads + "}}"},
              {"m/data/weights/weight_0", storage}});
}

std::string floats(int count) {
  std::string bytes(static_cast<std::size_t>(count) * 4, '\0');
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

std::vector<float> values(const Program& program, const std::string& name) {
  const Tensor copy = *program.weights.at(name).tensor.contiguous_copy();
  return {copy.as<float>(), copy.as<float>() + copy.view().elements()};
}

TEST(Load, Policies) {
  const struct {
    const char* name;
    std::size_t nodes, weights, symbols, samples;
  } cases[] = {{"act_tiny", 455, 210, 0, 2},
               {"act_tiny_dyn", 459, 210, 1, 2},
               {"diffusion_tiny", 530, 165, 0, 3},
               {"smolvla_tiny", 1351, 100, 1, 6}};
  for (const auto& expected : cases) {
    const auto program = read_program(kData + "/policies/" + expected.name + ".pt2");
    ASSERT_TRUE(program.ok()) << expected.name << ": " << program.status().message();
    EXPECT_EQ(program->graph.nodes.size(), expected.nodes) << expected.name;
    EXPECT_EQ(program->symbols.size(), expected.symbols) << expected.name;
    EXPECT_EQ(program->sample_inputs.size(), expected.samples) << expected.name;
    EXPECT_TRUE(program->warnings.empty()) << expected.name << program->warnings[0];
    std::size_t weights = 0;
    for (const InputSpec& spec : program->inputs) {
      if (spec.target.empty()) continue;
      ++weights;
      EXPECT_EQ(program->weights.count(spec.target), 1u) << spec.target;
    }
    EXPECT_EQ(weights, program->inputs.size() - program->sample_inputs.size()) << expected.name;
  }
}

TEST(Load, BareGraphsDrawTheSameWeightsEachTime) {
  const std::string path = kData + "/graphs/act_full.json.gz";
  ReadOptions options;
  options.weight_seed = 3;
  const auto a = read_program(path, options), b = read_program(path, options);
  options.weight_seed = 4;
  const auto c = read_program(path, options);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok()) << a.status().message();
  EXPECT_EQ(a->graph.nodes.size(), 523u);
  for (const auto* drawn : {&*a, &*b, &*c}) drawn->draw_weights();
  int differ = 0;
  for (const auto& [name, weight] : a->weights) {
    const std::size_t bytes = weight.tensor.view().bytes();
    const void* data = weight.tensor.view().data;
    EXPECT_EQ(std::memcmp(data, b->weights.at(name).tensor.view().data, bytes), 0) << name;
    differ += std::memcmp(data, c->weights.at(name).tensor.view().data, bytes) != 0;
  }
  EXPECT_GT(differ, 100);
  options.max_drawn_bytes = 1000;
  EXPECT_EQ(read_program(path, options).status().code(), StatusCode::kResourceExhausted);
}

TEST(Load, DrawnWeightsHaveTheirScale) {
  const auto drawn = read(program(meta("300 1000", "1000 1")));
  ASSERT_TRUE(drawn.ok()) << drawn.status().message();
  drawn->draw_weights();
  double sum = 0, squares = 0;
  const std::vector<float> all = values(*drawn, "w");
  for (const float value : all) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(all.size());
  EXPECT_NEAR(sum / count, 0.0, 3e-4);
  EXPECT_NEAR(squares / count, 1e-3, 2e-5);
}

TEST(Load, StridedSharedAndEmptyWeights) {
  const auto read_back = read(archive(
      payload("w", meta("2", "1")) + "," + payload("t", meta("3 2", "1 3")) + "," +
          payload("shifted", meta("2", "2", "3")) + "," +
          payload("expanded", meta("2 2", "0 1", "4")) + "," +
          payload("scalar", meta("", "", "5")) + "," + payload("empty", meta("0 7", "7 1", "999")),
      floats(6)));
  ASSERT_TRUE(read_back.ok()) << read_back.status().message();
  EXPECT_EQ(values(*read_back, "w"), (std::vector<float>{0, 1}));
  EXPECT_EQ(values(*read_back, "t"), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values(*read_back, "shifted"), (std::vector<float>{3, 5}));
  EXPECT_EQ(values(*read_back, "expanded"), (std::vector<float>{4, 5, 4, 5}));
  EXPECT_EQ(values(*read_back, "scalar"), (std::vector<float>{5}));
  EXPECT_EQ(values(*read_back, "empty").size(), 0u);
  EXPECT_EQ(read_back->weights.at("w").tensor.view().as<float>() + 3,
            read_back->weights.at("shifted").tensor.view().as<float>());
}

TEST(Load, ViewsThatReachBeyondTheirStorageAreNamed) {
  const std::string big = "4611686018427387904";
  for (const std::string& tensor :
       {meta("7", "1"), meta("2", "6"), meta("1", "1", "6"), meta("2", "1", "-1"), meta("2", "-1"),
        meta("-1", "1"), meta(big + " " + big, "0 0"), meta("3", big), meta("1", "1", big),
        meta(big, "0"), meta("2 2", "1"), meta("4", "1", "0", 8)}) {
    const auto result = read(archive(payload("some.weight", tensor), floats(6)));
    EXPECT_EQ(result.status().code(), StatusCode::kDataLoss) << tensor;
    EXPECT_THAT(result.status().message(), HasSubstr("some.weight")) << tensor;
  }
  EXPECT_THAT(read(archive(payload("w", meta("2", "1"), "weight_9"), "")).status().message(),
              HasSubstr("weight_9"));
}

TEST(Load, OtherSchemasAreRefusedByNumber) {
  const auto result = read(zip({{"m/models/model.json", program(meta("2", "1"), 9)}}));
  EXPECT_THAT(result.status().message(), HasSubstr("schema version 9.1"));
}

TEST(Load, ProgramsOfAnArchiveAreChosenByName) {
  const std::string weights = "{\"config\":{" + payload("w", meta("2", "1")) + "}}";
  const std::string two = zip({{"m/models/a.json", program()},
                               {"m/models/b.json", program()},
                               {"m/data/weights/a_weights_config.json", weights},
                               {"m/data/weights/b_weights_config.json", weights},
                               {"m/data/weights/weight_0", floats(2)}});
  EXPECT_THAT(read(two).status().message(), HasSubstr("a, b"));
  ReadOptions options;
  options.model = "b";
  EXPECT_TRUE(read(two, options).ok());
  options.model = "c";
  EXPECT_EQ(read(two, options).status().code(), StatusCode::kNotFound);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Load, PartsThatContradictEachOtherAreNamed) {
  const std::string whole = program();
  ASSERT_TRUE(read(whole).ok());
  const std::string node =
      R"({"target":"torch.ops.aten.neg.default","name":"neg","metadata":{},"inputs":[{"name":"self",)"
      R"("kind":1,"arg":{"as_tensor":{"name":"y"}}}],"outputs":[{"as_tensor":{"name":"x"}}]})";
  const std::string made = replaced(node, R"("name":"y")", R"("name":"x")");
  const struct {
    std::string from, to, message;
  } cases[] = {
      {R"("outputs":[{"as_tensor":{"name":"x"}}])", R"("outputs":[{"as_tensor":{"name":"z"}}])",
       "output 0 is 'x' in the signature and 'z' in the graph"},
      {R"("nodes":[])", R"("nodes":[)" + node + "]", "'y' is used before it is made"},
      {R"("nodes":[])", R"("nodes":[)" + made + "]", "'x' is made twice"},
      {R"("nodes":[])",
       R"("nodes":[)" +
           replaced(made, R"({"as_tensor":{"name":"x"}}]})", R"({"as_tensor":{"name":"q"}}]})") +
           "]",
       "nothing describes tensor 'q'"},
      {R"("arg":{"name":"p_w"})", R"("arg":{"name":"x"})", "'x' in the signature and 'p_w'"},
      {R"("output_specs":[)", R"("output_specs":[{"token":{"arg":{"name":"t"}}},)",
       "the signature has 2 outputs, the graph 1"},
  };
  for (const auto& [from, to, message] : cases) {
    const auto result = read(replaced(whole, from, to));
    EXPECT_EQ(result.status().code(), StatusCode::kDataLoss) << to;
    EXPECT_THAT(result.status().message(), HasSubstr(message));
  }
}

TEST(Load, WeightsAreWhatTheProgramTakes) {
  EXPECT_TRUE(read(archive(payload("w", meta("2", "1")), floats(2))).ok());
  EXPECT_THAT(read(archive("", floats(2))).status().message(), HasSubstr("'w' is missing"));
  EXPECT_THAT(read(archive(payload("w", meta("2", "1")), "")).status().message(),
              HasSubstr("'w' has no data"));
  for (const std::string& other : {meta("1", "1"), meta("2 1", "1 1"), meta("2", "1", "0", 4)}) {
    const auto result = read(archive(payload("w", other), floats(2)));
    EXPECT_EQ(result.status().code(), StatusCode::kDataLoss) << other;
    EXPECT_THAT(result.status().message(), HasSubstr("the program takes float32[2]"));
  }
}

TEST(Load, AlteredProgramsAreFoundByTheirChecksum) {
  const std::string whole = archive(payload("w", meta("2", "1")), floats(2));
  for (const char* text : {"as_tensor", "is_param"}) {
    std::string altered = whole;
    altered[altered.find(text)] = 'A';
    const auto found = read(altered);
    EXPECT_EQ(found.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(found.status().message(), HasSubstr("checksum"));
  }
}

TEST(Load, ArchivesOfAnotherKindOrVersionAreRefused) {
  const auto with = [](const std::string& name, const std::string& content) {
    return read(zip({{"m/models/model.json", program()},
                     {"m/data/weights/model_weights_config.json",
                      "{\"config\":{" + payload("w", meta("2", "1")) + "}}"},
                     {"m/data/weights/weight_0", floats(2)},
                     {"m/" + name, content}}));
  };
  EXPECT_TRUE(with("archive_format", "pt2").ok());
  EXPECT_TRUE(with("archive_version", "0\n").ok());
  EXPECT_TRUE(with("byteorder", "little").ok());
  EXPECT_EQ(with("archive_format", "pt3").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(with("archive_version", "1").status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(with("byteorder", "big").status().code(), StatusCode::kUnimplemented);
}

TEST(Load, DirectoriesAndMissingFilesAreNamed) {
  const auto folder = read_program(kData);
  EXPECT_EQ(folder.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(folder.status().message(), HasSubstr("a directory"));
  EXPECT_EQ(read_program(kData + "/nothing.pt2").status().code(), StatusCode::kNotFound);
}

TEST(Load, NestedGraphsAreBounded) {
  std::string graph = "{\"inputs\":[],\"outputs\":[],\"nodes\":[],\"tensor_values\":{}}";
  for (int i = 0; i < 100; ++i) {
    graph =
        "{\"tensor_values\":{},\"outputs\":[],\"nodes\":[],\"inputs\":[{\"as_graph\":{\"name\":"
        "\"g\",\"graph\":" +
        graph + "}}]}";
  }
  const auto result = read("{\"graph_module\":{\"graph\":" + graph + "}}");
  EXPECT_THAT(result.status().message(), HasSubstr("nested too deep"));
  EXPECT_EQ(read("{\"a\":" + std::string(1'000'000, '[')).status().code(), StatusCode::kDataLoss);
}

TEST(Load, TheOldLayout) {
  const std::string counter = read_file(kData + "/../fuzz/load/old_layout.pt2");
  const auto result = read(counter);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->sample_inputs.size(), 1u);
  static constexpr char kPickle[] =
      "\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storage"
      "ctorch\nFloatStorage\nX\x01\0\0\0"
      "0X\x03\0\0\0"
      "cpuK\x04tQK\x01K\x02\x85K\x02\x85\x89"
      "ccollections\nOrderedDict\n)RtRs.";
  const std::string pickle(kPickle, sizeof(kPickle) - 1);
  const std::string state = zip({{"archive/data.pkl", pickle}, {"archive/data/0", floats(4)}});
  const auto old = read(zip({{"version", "8.8"},
                             {"serialized_exported_program.json", program()},
                             {"serialized_state_dict.pt", state},
                             {"serialized_constants.pt", ""}}));
  ASSERT_TRUE(old.ok()) << old.status().message();
  EXPECT_EQ(values(*old, "w"), (std::vector<float>{1, 3}));
  EXPECT_TRUE(old->weights.at("w").is_parameter);
}

TEST(Load, TruncatedFilesAreErrors) {
  const std::string whole = read_file(kData + "/programs/dynamic_batch_mlp.pt2");
  ASSERT_TRUE(read(whole).ok());
  for (std::size_t size = 0; size < whole.size(); size += 37)
    EXPECT_FALSE(read(whole.substr(0, size)).ok()) << size;
  const std::string graph = read_file(kData + "/graphs/act_full.json.gz");
  for (std::size_t size = 0; size < graph.size(); size += 997)
    EXPECT_FALSE(read(graph.substr(0, size)).ok()) << size;
}

TEST(Load, FlippedBitsNeverCrash) {
  const std::string whole = read_file(kData + "/programs/dynamic_batch_mlp.pt2");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 5) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ (1 << (at % 8)));
    const auto result = read(broken);
    if (!result.ok()) {
      ++refused;
      EXPECT_FALSE(result.status().message().empty());
      continue;
    }
    for (const auto& [name, weight] : result->weights)
      EXPECT_TRUE(weight.tensor.contiguous_copy().ok()) << name;
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace tendon::archive
