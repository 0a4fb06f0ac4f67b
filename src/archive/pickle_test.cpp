#include "archive/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tendon::archive {
namespace {

using ::testing::HasSubstr;

Result<PickleValue> read(const std::string& pickle) {
  const RebuildTensor rebuild = [](const PickleValue::Storage& storage, std::int64_t,
                                   const Sizes& sizes, const Sizes&) -> Result<Tensor> {
    if (storage.key != "0") return Status(StatusCode::kDataLoss, "no storage " + storage.key);
    return Tensor::allocate(storage.dtype, sizes);
  };
  return read_pickle(std::as_bytes(std::span(pickle)), rebuild);
}

std::string with_zeros(const char* text, std::size_t size) { return std::string(text, size); }
#define BYTES(literal) with_zeros(literal, sizeof(literal) - 1)

/// What torch.save writes for ((tensor of 2 floats,), {}).
std::string tensor_pickle() {
  return BYTES(
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\nq\x00((X\x07\x00\x00\x00storageq\x01"
      "ctorch\nFloatStorage\nq\x02X\x01\x00\x00\x00"
      "0q\x03X\x03\x00\x00\x00"
      "cpuq\x04K\x02tq\x05QK\x00K\x02\x85q\x06K\x01\x85q\x07\x89"
      "ccollections\nOrderedDict\nq\x08)Rq\ttq\nRq\x0b\x85q\x0c}q\r\x86q\x0e.");
}

TEST(Pickle, TensorsAsTorchSavesThem) {
  const auto value = read(tensor_pickle());
  ASSERT_TRUE(value.ok()) << value.status().message();
  const auto& pair = std::get<PickleValue::Sequence>(value->content);
  ASSERT_EQ(pair.items->size(), 2u);
  const auto& arguments = std::get<PickleValue::Sequence>((*pair.items)[0].content);
  const auto& tensor = std::get<Tensor>((*arguments.items)[0].content);
  EXPECT_EQ(tensor.dtype(), DType::kFloat32);
  EXPECT_EQ(tensor.view().sizes, Sizes{2});
  EXPECT_TRUE(std::holds_alternative<PickleValue::Dict>((*pair.items)[1].content));
}

TEST(Pickle, Integers) {
  const auto integer = [](const std::string& pickle) {
    const auto value = read(pickle);
    EXPECT_TRUE(value.ok()) << value.status().message();
    return std::get<std::int64_t>(value->content);
  };
  EXPECT_EQ(integer(BYTES("\x80\x02K\xff.")), 255);
  EXPECT_EQ(integer(BYTES("M\x01\x02.")), 513);
  EXPECT_EQ(integer(BYTES("J\xfe\xff\xff\xff.")), -2);
  EXPECT_EQ(integer(BYTES("\x8a\x00.")), 0);
  EXPECT_EQ(integer(BYTES("\x8a\x01\xff.")), -1);
  EXPECT_EQ(integer(BYTES("\x8a\x05\x00\x00\x00\x00\x01.")), std::int64_t{1} << 32);
  EXPECT_FALSE(read(BYTES("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.")).ok());
}

TEST(Pickle, OtherGlobalsAreRefusedByName) {
  for (const char* global : {"os\nsystem", "builtins\neval", "posix\nsystem", "torch\nload",
                             "torch._utils\n_rebuild_tensor_v2.__globals__"}) {
    const auto value =
        read("c" + std::string(global) + "\n(X\x02" + std::string(3, '\0') + "lstR.");
    EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument);
    const std::string text = global;
    EXPECT_THAT(value.status().message(), HasSubstr(text.substr(text.find('\n') + 1)));
  }
  // By STACK_GLOBAL too.
  EXPECT_EQ(read(BYTES("\x8c\x02os\x8c\x06system\x93.")).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Pickle, OtherOpcodesAreRefused) {
  // INST, OBJ, NEWOBJ, EXT1, PERSID, NEXT_BUFFER
  for (const char* code : {"i", "o", "\x81", "\x82", "P", "\x97"}) {
    EXPECT_EQ(read(code + std::string("os\nsystem\n.")).status().code(),
              StatusCode::kInvalidArgument);
  }
}

TEST(Pickle, EveryTruncationIsAnError) {
  const std::string whole = tensor_pickle();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(read(whole.substr(0, size)).status().code(), StatusCode::kDataLoss) << size;
}

TEST(Pickle, StacksAndMemosThatAreNotThere) {
  for (const std::string& pickle :
       {BYTES("."), BYTES("R."), BYTES("t."), BYTES("\x87."), BYTES("h\x07."), BYTES("q\x00."),
        BYTES("s."), BYTES("KKQ."), BYTES("NNR."), BYTES("]K\x01s."), BYTES("}(K\x01u."),
        BYTES("X\xff\xff\xff\xff."), BYTES("(K\x01K\x02K\x03K\x04tQ.")}) {
    EXPECT_EQ(read(pickle).status().code(), StatusCode::kDataLoss);
  }
}

TEST(Pickle, ContainersThatHoldThemselvesAreRefused) {
  EXPECT_THAT(read(BYTES("]q\x00h\x00"
                         "a."))
                  .status()
                  .message(),
              HasSubstr("nested too deep"));
  EXPECT_FALSE(read(BYTES("}q\x00K\x01h\x00s.")).ok());
  // Neither where the result does not show it.
  EXPECT_FALSE(read(BYTES("]q\x00h\x00"
                          "aN."))
                   .ok());
}

TEST(Pickle, DeepNestingNeitherOverflowsTheStackNorIsAccepted) {
  std::string tuples = "N" + std::string(1'000'000, '\x85') + ".";
  EXPECT_EQ(read(tuples).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(read("N" + std::string(500'000, '\x85')).status().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(read("N" + std::string(20, '\x85') + ".").ok());
}

TEST(Pickle, StackAndRepeatedTextAreBounded) {
  EXPECT_FALSE(read(std::string(3'000'000, 'N') + ".").ok());
  std::string repeated = BYTES("X\x00\x00\x10\x00") + std::string(1 << 20, 'x') + BYTES("q\x00");
  for (int i = 0; i < 1000; ++i) repeated += BYTES("h\x00");
  EXPECT_THAT(read(repeated + ".").status().message(), HasSubstr("repeats too much"));
}

}  // namespace
}  // namespace tendon::archive
