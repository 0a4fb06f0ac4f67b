#include "archive/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "archive/json.h"  // FormatError

namespace tendon::archive {

namespace {

constexpr std::size_t kMaxStack = 1u << 20;
constexpr std::size_t kMaxNesting = 64;
constexpr std::size_t kMaxRank = 64;
/// Values are copied from the memo, and long texts with them.
constexpr std::size_t kMaxRecalledText = 1u << 26;

/// The pickle asks for something that is not read on purpose.
struct RefusedError : FormatError {
  using FormatError::FormatError;
};

std::optional<DType> storage_dtype(const std::string& name) {
  static constexpr std::pair<std::string_view, DType> kStorages[] = {
      {"torch.FloatStorage", DType::kFloat32},
      {"torch.DoubleStorage", DType::kFloat64},
      {"torch.HalfStorage", DType::kFloat16},
      {"torch.BFloat16Storage", DType::kBFloat16},
      {"torch.LongStorage", DType::kInt64},
      {"torch.IntStorage", DType::kInt32},
      {"torch.ShortStorage", DType::kInt16},
      {"torch.CharStorage", DType::kInt8},
      {"torch.ByteStorage", DType::kUInt8},
      {"torch.BoolStorage", DType::kBool},
      {"torch.ComplexFloatStorage", DType::kComplex64},
      {"torch.ComplexDoubleStorage", DType::kComplex128},
      {"torch.storage.UntypedStorage", DType::kUInt8}};
  for (const auto& [known, dtype] : kStorages) {
    if (name == known) return dtype;
  }
  return std::nullopt;
}

class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, const RebuildTensor& rebuild)
      : bytes_(bytes), rebuild_(rebuild) {}
  Unpickler(const Unpickler&) = delete;
  Unpickler& operator=(const Unpickler&) = delete;
  /// Containers of a broken pickle may hold themselves, or be nested deeper than destructors can
  /// follow: they are emptied one by one.
  ~Unpickler() {
    if (complete_) return;
    for (const auto& list : lists_) PickleList().swap(*list);
    for (const auto& dict : dicts_) PickleDict().swap(*dict);
  }

  PickleValue run() {
    while (true) {
      if (stack_.size() > kMaxStack) throw FormatError("the pickle's stack grows too large");
      const auto code = take<std::uint8_t>();
      if (code == '.') {
        PickleValue result = pop();
        check_nesting();
        complete_ = true;
        return result;
      }
      step(code);
    }
  }

 private:
  template <typename T>
  T take() {
    if (bytes_.size() - at_ < sizeof(T)) throw FormatError("the pickle ends too early");
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string take_text(std::size_t count) {
    if (bytes_.size() - at_ < count) throw FormatError("the pickle ends too early");
    std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), count);
    at_ += count;
    return text;
  }
  std::string take_line() {
    std::string line;
    while (true) {
      const char c = static_cast<char>(take<std::uint8_t>());
      if (c == '\n') return line;
      line.push_back(c);
    }
  }
  PickleValue pop() {
    if (stack_.empty()) throw FormatError("the pickle takes from an empty stack");
    PickleValue value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }
  template <typename T>
  void push(T value) {
    stack_.push_back(PickleValue{std::move(value)});
  }
  PickleList pop_to_mark() {
    PickleList items;
    while (true) {
      PickleValue value = pop();
      if (std::holds_alternative<PickleValue::Mark>(value.content)) break;
      items.push_back(std::move(value));
    }
    std::reverse(items.begin(), items.end());
    return items;
  }
  void push_sequence(PickleList items) {
    lists_.push_back(std::make_shared<PickleList>(std::move(items)));
    push(PickleValue::Sequence{lists_.back()});
  }
  void push_dict() {
    dicts_.push_back(std::make_shared<PickleDict>());
    push(PickleValue::Dict{dicts_.back()});
  }

  /// How deep a value's containers are nested; throws where they hold themselves.
  std::size_t height(const PickleValue& value, std::size_t depth) {
    const void* container = nullptr;
    const auto* list = std::get_if<PickleValue::Sequence>(&value.content);
    const auto* dict = std::get_if<PickleValue::Dict>(&value.content);
    if (list != nullptr) container = list->items.get();
    if (dict != nullptr) container = dict->items.get();
    if (container == nullptr) return 0;
    // An unfinished container has the height of one that is nested too deep.
    const auto [it, first] = heights_.emplace(container, kMaxNesting);
    if (!first) return it->second;
    if (depth > kMaxNesting) throw FormatError("the pickle's containers are nested too deep");
    std::size_t result = 0;
    const auto visit = [&](const PickleValue& item) {
      result = std::max(result, height(item, depth + 1) + 1);
    };
    if (list != nullptr) {
      for (const PickleValue& item : *list->items) visit(item);
    } else {
      for (const auto& [key, item] : *dict->items) {
        visit(key);
        visit(item);
      }
    }
    if (result > kMaxNesting) throw FormatError("the pickle's containers are nested too deep");
    heights_[container] = result;
    return result;
  }
  void check_nesting() {
    for (const auto& list : lists_) height(PickleValue{PickleValue::Sequence{list}}, 0);
    for (const auto& dict : dicts_) height(PickleValue{PickleValue::Dict{dict}}, 0);
  }
  template <typename T>
  T& top(const char* what) {
    if (stack_.empty() || !std::holds_alternative<T>(stack_.back().content)) {
      throw FormatError(std::string("the pickle expects ") + what);
    }
    return std::get<T>(stack_.back().content);
  }
  template <typename T>
  static const T& expect(const PickleValue& value, const char* what) {
    if (!std::holds_alternative<T>(value.content))
      throw FormatError(std::string("the pickle expects ") + what);
    return std::get<T>(value.content);
  }
  static Sizes integers(const PickleValue& value) {
    Sizes sizes;
    for (const PickleValue& item :
         *expect<PickleValue::Sequence>(value, "a tuple of sizes").items) {
      sizes.push_back(expect<std::int64_t>(item, "an integer"));
      if (sizes.size() > kMaxRank) throw FormatError("the pickle's tensor has too many axes");
    }
    return sizes;
  }

  void set_items(const PickleList& items) {
    auto& dict = top<PickleValue::Dict>("a dict");
    if (items.size() % 2 != 0) throw FormatError("the pickle sets a key without a value");
    for (std::size_t i = 0; i < items.size(); i += 2)
      dict.items->emplace_back(items[i], items[i + 1]);
  }

  void reduce() {
    const PickleValue arguments = pop();
    const std::string name = expect<PickleValue::Global>(pop(), "a global").name;
    const PickleList& list =
        *expect<PickleValue::Sequence>(arguments, "a tuple of arguments").items;
    if (name == "torch._utils._rebuild_tensor_v2" && list.size() >= 4) {
      auto tensor = rebuild_(expect<PickleValue::Storage>(list[0], "a storage"),
                             expect<std::int64_t>(list[1], "an offset"), integers(list[2]),
                             integers(list[3]));
      if (!tensor.ok()) throw FormatError(tensor.status().message());
      push(std::move(*tensor));
    } else if (name == "torch._utils._rebuild_parameter" && !list.empty()) {
      push(expect<Tensor>(list[0], "a tensor"));
    } else if (name == "collections.OrderedDict") {
      push_dict();
    } else if (name == "torch.Size" && list.size() == 1) {
      stack_.push_back(list[0]);
    } else if (name == "torch.device" || name == "torch.serialization._get_layout") {
      push(PickleValue::None{});
    } else {
      refuse(name);
    }
  }

  [[noreturn]] static void refuse(const std::string& name) {
    throw RefusedError("the pickle asks for '" + name + "', which is not read");
  }

  void push_global(const std::string& name) {
    static constexpr std::string_view kKnown[] = {"torch._utils._rebuild_tensor_v2",
                                                  "torch._utils._rebuild_parameter",
                                                  "collections.OrderedDict",
                                                  "torch.Size",
                                                  "torch.device",
                                                  "torch.serialization._get_layout"};
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown) &&
        !storage_dtype(name))
      refuse(name);
    push(PickleValue::Global{name});
  }

  void persistent() {
    const PickleValue id = pop();
    const PickleList& parts = *expect<PickleValue::Sequence>(id, "a storage's id").items;
    if (parts.size() != 5 || expect<std::string>(parts[0], "text") != "storage")
      throw FormatError("an unknown persistent id");
    PickleValue::Storage storage;
    storage.dtype = storage_dtype(expect<PickleValue::Global>(parts[1], "a storage type").name)
                        .value_or(DType::kUInt8);
    storage.key = expect<std::string>(parts[2], "text");
    storage.elements = expect<std::int64_t>(parts[4], "a count");
    push(std::move(storage));
  }

  void long_integer() {
    const auto count = take<std::uint8_t>();
    if (count > 8) throw FormatError("an integer of more than 64 bits");
    std::uint64_t value = 0;
    std::uint8_t last = 0;
    for (int i = 0; i < count; ++i) {
      last = take<std::uint8_t>();
      value |= std::uint64_t{last} << (8 * i);
    }
    if (count > 0 && count < 8 && (last & 0x80) != 0) value |= ~std::uint64_t{0} << (8 * count);
    push(static_cast<std::int64_t>(value));
  }

  void step(std::uint8_t code) {
    switch (code) {
      case 0x80:
        take<std::uint8_t>();
        break;  // PROTO
      case 0x95:
        take<std::uint64_t>();
        break;  // FRAME
      case '(':
        push(PickleValue::Mark{});
        break;
      case 'N':
        push(PickleValue::None{});
        break;
      case 0x88:
        push(true);
        break;
      case 0x89:
        push(false);
        break;
      case 'J':
        push(std::int64_t{take<std::int32_t>()});
        break;
      case 'K':
        push(std::int64_t{take<std::uint8_t>()});
        break;
      case 'M':
        push(std::int64_t{take<std::uint16_t>()});
        break;
      case 0x8A:
        long_integer();
        break;
      case 'G': {
        std::uint64_t bits = take<std::uint64_t>();
        bits = __builtin_bswap64(bits);
        push(std::bit_cast<double>(bits));
        break;
      }
      case 'X':
        push(take_text(take<std::uint32_t>()));
        break;
      case 0x8C:
        push(take_text(take<std::uint8_t>()));
        break;
      case 'U':
        push(take_text(take<std::uint8_t>()));
        break;
      case ')':
        push_sequence({});
        break;
      case ']':
        push_sequence({});
        break;
      case 't':
        push_sequence(pop_to_mark());
        break;
      case 'l':
        push_sequence(pop_to_mark());
        break;
      case 0x85: {
        PickleValue a = pop();
        push_sequence({a});
        break;
      }
      case 0x86: {
        PickleValue b = pop(), a = pop();
        push_sequence({a, b});
        break;
      }
      case 0x87: {
        PickleValue c = pop(), b = pop(), a = pop();
        push_sequence({a, b, c});
        break;
      }
      case '}':
        push_dict();
        break;
      case 's': {
        PickleValue v = pop(), k = pop();
        set_items({k, v});
        break;
      }
      case 'u':
        set_items(pop_to_mark());
        break;
      case 'a': {
        PickleValue v = pop();
        top<PickleValue::Sequence>("a list").items->push_back(v);
        break;
      }
      case 'e': {
        const PickleList items = pop_to_mark();
        auto& list = *top<PickleValue::Sequence>("a list").items;
        list.insert(list.end(), items.begin(), items.end());
        break;
      }
      case 'q':
        memo_[take<std::uint8_t>()] = peek();
        break;
      case 'r':
        memo_[take<std::uint32_t>()] = peek();
        break;
      case 0x94: {
        const auto next = static_cast<std::uint32_t>(memo_.size());
        memo_[next] = peek();
        break;
      }
      case 'h':
        recall(take<std::uint8_t>());
        break;
      case 'j':
        recall(take<std::uint32_t>());
        break;
      case 'c': {
        const std::string module = take_line();
        push_global(module + "." + take_line());
        break;
      }
      case 0x93: {
        const PickleValue name = pop(), module = pop();
        push_global(expect<std::string>(module, "a module's name") + "." +
                    expect<std::string>(name, "a name"));
        break;
      }
      case 'Q':
        persistent();
        break;
      case 'R':
        reduce();
        break;
      case 'b':
        pop();
        break;  // BUILD: state that plain data does not have
      default:
        throw RefusedError("the pickle uses opcode " + std::to_string(code) +
                           ", which is not read");
    }
  }
  const PickleValue& peek() const {
    if (stack_.empty()) throw FormatError("the pickle remembers nothing");
    return stack_.back();
  }
  void recall(std::uint32_t key) {
    const auto it = memo_.find(key);
    if (it == memo_.end()) throw FormatError("the pickle recalls what it never had");
    if (const auto* text = std::get_if<std::string>(&it->second.content)) {
      recalled_text_ += text->size();
      if (recalled_text_ > kMaxRecalledText) throw FormatError("the pickle repeats too much text");
    }
    stack_.push_back(it->second);
  }

  std::span<const std::byte> bytes_;
  const RebuildTensor& rebuild_;
  std::size_t at_ = 0;
  PickleList stack_;
  std::map<std::uint32_t, PickleValue> memo_;
  std::vector<std::shared_ptr<PickleList>> lists_;
  std::vector<std::shared_ptr<PickleDict>> dicts_;
  std::unordered_map<const void*, std::size_t> heights_;
  std::size_t recalled_text_ = 0;
  bool complete_ = false;
};

}  // namespace

Result<PickleValue> read_pickle(std::span<const std::byte> bytes,
                                const RebuildTensor& rebuild) try {
  return Unpickler(bytes, rebuild).run();
} catch (const RefusedError& error) {
  return Status(StatusCode::kInvalidArgument, error.what());
} catch (const FormatError& error) {
  return Status(StatusCode::kDataLoss, error.what());
}

}  // namespace tendon::archive
