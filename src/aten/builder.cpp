#include "aten/builder.h"

#include <algorithm>
#include <bit>

namespace tendon::aten {

using ir::ExprNode;
using ir::kNoExpr;
using ir::NodeId;
using ir::Primitive;
using ir::ValueId;

namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15ull + (seed >> 29);
}

std::size_t hash_shape(const Shape& shape) {
  std::size_t h = shape.size();
  for (const Size& size : shape) h = mix(h, size.hash());
  return h;
}

/// A hash and an equality of everything but symbols and sub-graphs; nodes with those are never
/// shared.
struct PrimitiveIdentity {
  static bool shareable(const Primitive& p) {
    return !std::holds_alternative<ir::Compact>(p) && !std::holds_alternative<ir::Item>(p) &&
           !std::holds_alternative<ir::Branch>(p) && !std::holds_alternative<ir::While>(p) &&
           !std::holds_alternative<ir::Loop>(p) && !std::holds_alternative<ir::Assert>(p) &&
           !std::holds_alternative<ir::Input>(p);
  }

  static std::size_t hash(const Primitive& primitive) {
    std::size_t h = primitive.index();
    std::visit(
        [&](const auto& p) {
          using T = std::remove_cvref_t<decltype(p)>;
          if constexpr (std::is_same_v<T, ir::Constant> || std::is_same_v<T, ir::State>) {
            h = mix(h, static_cast<std::size_t>(p.index));
          } else if constexpr (std::is_same_v<T, ir::Map>) {
            h = mix(h, static_cast<std::size_t>(p.body));
          } else if constexpr (std::is_same_v<T, ir::Reduce>) {
            h = mix(mix(mix(h, static_cast<std::size_t>(p.op)), static_cast<std::size_t>(p.body)),
                    hash_shape(p.reduced));
          } else if constexpr (std::is_same_v<T, ir::Scan>) {
            h = mix(mix(mix(h, static_cast<std::size_t>(p.op)), static_cast<std::size_t>(p.body)),
                    static_cast<std::size_t>(p.axis));
          } else if constexpr (std::is_same_v<T, ir::Scatter>) {
            h = mix(mix(h, static_cast<std::size_t>(p.value)),
                    static_cast<std::size_t>(p.mask + 1));
          }
        },
        primitive);
    return h;
  }

  static bool equal(const Primitive& left, const Primitive& right) {
    if (left.index() != right.index()) return false;
    return std::visit(
        [&](const auto& a) {
          using T = std::remove_cvref_t<decltype(a)>;
          const T& b = std::get<T>(right);
          if constexpr (std::is_same_v<T, ir::Constant> || std::is_same_v<T, ir::State>) {
            return a.index == b.index;
          } else if constexpr (std::is_same_v<T, ir::Map>) {
            return a.body == b.body;
          } else if constexpr (std::is_same_v<T, ir::Reduce>) {
            return a.op == b.op && a.body == b.body && a.reduced == b.reduced;
          } else if constexpr (std::is_same_v<T, ir::Scan>) {
            return a.op == b.op && a.body == b.body && a.axis == b.axis;
          } else if constexpr (std::is_same_v<T, ir::Matmul>) {
            return a.epilogue == b.epilogue;
          } else if constexpr (std::is_same_v<T, ir::Conv>) {
            return a.stride == b.stride && a.dilation == b.dilation &&
                   a.padding_before == b.padding_before && a.padding_after == b.padding_after &&
                   a.groups == b.groups && a.transposed == b.transposed && a.epilogue == b.epilogue;
          } else if constexpr (std::is_same_v<T, ir::Attention>) {
            return a.scale == b.scale && a.causal == b.causal &&
                   a.causal_offset == b.causal_offset && a.zero_masked_rows == b.zero_masked_rows &&
                   a.score == b.score;
          } else if constexpr (std::is_same_v<T, ir::Sort> || std::is_same_v<T, ir::TopK>) {
            return a == b;
          } else if constexpr (std::is_same_v<T, ir::Scatter>) {
            return a.op == b.op && a.domain == b.domain && a.positions == b.positions &&
                   a.value == b.value && a.mask == b.mask &&
                   a.float32_accumulation == b.float32_accumulation;
          } else {
            return false;
          }
        },
        left);
  }
};

}  // namespace

// ---- Nodes.

NodeId Builder::add_node(Primitive primitive, std::vector<ValueId> inputs,
                         std::vector<std::pair<DType, Shape>> outputs) {
  if (!PrimitiveIdentity::shareable(primitive)) {
    return graph_.add(std::move(primitive), std::move(inputs), std::move(outputs), origin_);
  }
  std::size_t h = PrimitiveIdentity::hash(primitive);
  for (ValueId input : inputs) h = mix(h, static_cast<std::size_t>(input));
  for (const auto& [dtype, shape] : outputs) {
    h = mix(mix(h, static_cast<std::size_t>(dtype)), hash_shape(shape));
  }
  const auto [first, last] = nodes_by_hash_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    const ir::Node& node = graph_.node(it->second);
    if (node.inputs != inputs || node.outputs.size() != outputs.size() ||
        !PrimitiveIdentity::equal(node.primitive, primitive)) {
      continue;
    }
    const bool same_outputs = std::equal(
        outputs.begin(), outputs.end(), node.outputs.begin(), [&](const auto& a, ValueId b) {
          return a.first == graph_.value(b).dtype && a.second == graph_.value(b).shape;
        });
    if (same_outputs) return it->second;
  }
  const NodeId id =
      graph_.add(std::move(primitive), std::move(inputs), std::move(outputs), origin_);
  nodes_by_hash_.emplace(h, id);
  return id;
}

Tensor Builder::tensor_of(ValueId value) const {
  return Tensor{value, graph_.value(value).dtype, graph_.value(value).shape};
}

Indices Builder::begin_body(const Shape& extents) {
  pool().set_extents(extents);
  Indices index;
  index.reserve(extents.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    index.push_back(expr(pool().index(static_cast<int>(axis))));
  }
  return index;
}

// ---- Expressions.

Expr Builder::scalar(const Scalar& value, DType dtype) {
  return std::visit(
      [&](const auto& v) -> Expr {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          return constant(dtype, std::int64_t{v});
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          return constant(dtype, v.real());
        } else if constexpr (std::is_same_v<T, Size>) {
          return cast(dtype, size(v));
        } else if constexpr (std::is_same_v<T, Tensor>) {
          return cast(dtype, load(v, {}));
        } else {
          return constant(dtype, v);
        }
      },
      value);
}

Expr Builder::load(const Tensor& tensor, const Indices& positions) {
  return masked_load(tensor, truth(true), positions);
}

Expr Builder::masked_load(const Tensor& tensor, Expr mask, const Indices& positions) {
  const ir::Value& value = graph_.value(tensor.value);
  std::vector<ExprId> ids;
  ids.reserve(positions.size());
  for (Expr position : positions) ids.push_back(position.id);
  const auto* producer = std::get_if<ir::Map>(&graph_.producer(tensor.value).primitive);
  if (producer != nullptr) {
    // A view is not a value of its own: the load goes through to what it views. So do constants and
    // positions.
    const ExprNode& body = pool().node(producer->body);
    bool view = body.op == Op::kLoad || body.op == Op::kConstant || body.op == Op::kSize ||
                body.op == Op::kIndex;
    if (view && body.op == Op::kLoad) {
      for (ExprId id : pool().topological(producer->body)) {
        const Op op = pool().node(id).op;
        // A gather stays: its positions cost loads of their own.
        if ((op == Op::kLoad && id != producer->body) || op == Op::kMaskedLoad ||
            op == Op::kCheckIndex) {
          view = false;
          break;
        }
      }
    }
    if (view) {
      const bool masked = pool().as_integer(mask.id) != std::optional<std::int64_t>(1);
      const ExprId id =
          pool().substitute_indices(pool(), producer->body, ids, masked ? mask.id : kNoExpr);
      if (!masked || body.op == Op::kLoad) return expr(id);
      return select(mask, expr(id), constant(value.dtype, 0));
    }
  }
  return expr(pool().masked_load(tensor.value, value.dtype, mask.id, ids));
}

Expr Builder::load_broadcast(const Tensor& tensor, const Indices& index) {
  const std::size_t skipped = index.size() - tensor.shape.size();
  Indices positions;
  positions.reserve(tensor.shape.size() + 1);
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const bool stretched = tensor.shape[axis] == Size(1);
    positions.push_back(stretched ? constant(DType::kInt64, 0) : index[skipped + axis]);
  }
  return load(tensor, positions);
}

Expr Builder::check_index(Expr position, const Size& size, const CheckOptions& options) {
  ir::IndexCheck check{size, options.wrap, {}};
  check.message = options.message.empty() ? ir::IndexCheck{}.message : options.message;
  return expr(pool().check_index(position.id, check));
}

Expr Builder::random_bits(std::int64_t stream, Expr counter) {
  const Tensor state = random_state();
  const Expr seed = load(state, {constant(DType::kInt64, 0)});
  const Expr calls = load(state, {constant(DType::kInt64, 1)});
  // One stream for every operator and call.
  const Expr call_stream = calls * (std::int64_t{1} << 20) + stream;
  return expr(pool().philox(seed.id, call_stream.id, counter.id));
}

// ---- Primitives.

Tensor Builder::map(const Shape& shape, const Body& body) {
  const Indices index = begin_body(shape);
  const Expr result = body(index);
  // Reading a whole value as it is gives that value.
  const ExprNode& node = pool().node(result.id);
  if (node.op == Op::kLoad) {
    const auto value = static_cast<ValueId>(node.payload);
    const auto positions = pool().arguments(result.id);
    bool identity = graph_.value(value).shape == shape;
    for (std::size_t i = 0; identity && i < positions.size(); ++i) {
      identity = positions[i] == index[i].id || shape[i] == Size(1);
    }
    if (identity) return tensor_of(value);
  }
  const DType dtype = result.dtype();
  const NodeId id = add_node(ir::Map{result.id}, {}, {{dtype, shape}});
  return tensor_of(graph_.node(id).outputs[0]);
}

namespace {
Shape joined(const Shape& a, const Shape& b) {
  Shape result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}
}  // namespace

Tensor Builder::reduce(ReduceOp op, const Shape& shape, const Shape& reduced, const Body& body) {
  const Expr result = body(begin_body(joined(shape, reduced)));
  const bool positions = op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
  const NodeId id = add_node(ir::Reduce{op, reduced, result.id}, {},
                             {{positions ? DType::kInt64 : result.dtype(), shape}});
  return tensor_of(graph_.node(id).outputs[0]);
}

std::pair<Tensor, Tensor> Builder::moments(const Shape& shape, const Shape& reduced,
                                           const Body& body) {
  const Expr result = body(begin_body(joined(shape, reduced)));
  const NodeId id = add_node(ir::Reduce{ReduceOp::kMoments, reduced, result.id}, {},
                             {{result.dtype(), shape}, {result.dtype(), shape}});
  return {tensor_of(graph_.node(id).outputs[0]), tensor_of(graph_.node(id).outputs[1])};
}

std::vector<Tensor> Builder::scan(ir::ScanOp op, int axis, const Shape& shape, const Body& body) {
  const Expr result = body(begin_body(shape));
  std::vector<std::pair<DType, Shape>> outputs = {{result.dtype(), shape}};
  if (op == ir::ScanOp::kMax || op == ir::ScanOp::kMin) outputs.emplace_back(DType::kInt64, shape);
  const NodeId id = add_node(ir::Scan{op, axis, result.id}, {}, std::move(outputs));
  std::vector<Tensor> tensors;
  for (ValueId output : graph_.node(id).outputs) tensors.push_back(tensor_of(output));
  return tensors;
}

Tensor Builder::matmul(const Tensor& a, const Tensor& b) {
  Shape shape = a.shape;
  shape.back() = b.shape.back();
  const NodeId id = add_node(ir::Matmul{}, {a.value, b.value}, {{a.dtype, shape}});
  return tensor_of(graph_.node(id).outputs[0]);
}

Tensor Builder::conv(const Tensor& x, const Tensor& weight, ir::Conv attributes,
                     const Shape& shape) {
  const NodeId id = add_node(std::move(attributes), {x.value, weight.value}, {{x.dtype, shape}});
  return tensor_of(graph_.node(id).outputs[0]);
}

Tensor Builder::attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          ir::Attention attributes, const Body& bias) {
  Shape shape = q.shape;
  shape.back() = v.shape.back();
  if (bias) {
    Shape scores = q.shape;
    scores.back() = k.size(-2);
    const ExprId added = bias(begin_body(scores)).id;
    const ExprId product = graph_.pool.accumulator(graph_.pool.dtype(added));
    attributes.score = graph_.pool.binary(Op::kAdd, product, added);
  }
  const NodeId id =
      add_node(std::move(attributes), {q.value, k.value, v.value}, {{q.dtype, shape}});
  return tensor_of(graph_.node(id).outputs[0]);
}

std::pair<Tensor, Tensor> Builder::sort(const Tensor& x, int axis, bool descending, bool stable) {
  const NodeId id = add_node(ir::Sort{axis, descending, stable}, {x.value},
                             {{x.dtype, x.shape}, {DType::kInt64, x.shape}});
  return {tensor_of(graph_.node(id).outputs[0]), tensor_of(graph_.node(id).outputs[1])};
}

std::pair<Tensor, Tensor> Builder::top_k(const Tensor& x, int axis, bool largest, const Size& k,
                                         bool sorted) {
  Shape shape = x.shape;
  shape[static_cast<std::size_t>(axis)] = k;
  const NodeId id = add_node(ir::TopK{axis, largest, k, sorted}, {x.value},
                             {{x.dtype, shape}, {DType::kInt64, shape}});
  return {tensor_of(graph_.node(id).outputs[0]), tensor_of(graph_.node(id).outputs[1])};
}

Tensor Builder::compact(const Tensor& mask, const std::optional<Size>& expected) {
  // The same mask is counted once.
  for (const auto& [value, positions] : compacted_) {
    if (value == mask.value) {
      const Tensor known = tensor_of(positions);
      if (expected) {
        if (auto symbol = expected->as_symbol()) replace_symbol(symbol.get(), known.shape[0]);
      }
      return known;
    }
  }
  const Size elements = ir::element_count(mask.shape);
  const ir::SymbolRef symbol = fresh_symbol(expected, 0, elements.bounds().upper);
  const Size count = Size::symbol(symbol);
  const NodeId id =
      graph_.add(ir::Compact{symbol}, {mask.value}, {{DType::kInt64, {count}}}, origin_);
  compacted_.emplace_back(mask.value, graph_.node(id).outputs[0]);
  return tensor_of(graph_.node(id).outputs[0]);
}

Tensor Builder::scatter(ir::ScatterOp op, const Tensor& base, const Shape& domain,
                        const std::function<ScatterPoint(const Indices& index)>& body,
                        bool float32_accumulation) {
  const ScatterPoint point = body(begin_body(domain));
  ir::Scatter scatter{op, domain, {}, point.value.id, kNoExpr, float32_accumulation};
  for (Expr position : point.positions) scatter.positions.push_back(position.id);
  if (point.mask && pool().as_integer(point.mask->id) != std::optional<std::int64_t>(1)) {
    scatter.mask = point.mask->id;
  }
  const ir::Value& value = graph_.value(base.value);
  const NodeId id = add_node(std::move(scatter), {base.value}, {{value.dtype, value.shape}});
  return tensor_of(graph_.node(id).outputs[0]);
}

Size Builder::item(const Tensor& tensor, const std::optional<Size>& expected) {
  for (const auto& [value, size] : items_) {
    if (value == tensor.value) {
      if (expected) {
        if (auto symbol = expected->as_symbol()) replace_symbol(symbol.get(), size);
      }
      return size;
    }
  }
  const bool boolean = tensor.dtype == DType::kBool;
  const ir::SymbolRef symbol =
      fresh_symbol(expected, boolean ? 0 : -ir::kUnbounded, boolean ? 1 : ir::kUnbounded);
  graph_.add(ir::Item{symbol}, {tensor.value}, {}, origin_);
  items_.emplace_back(tensor.value, Size::symbol(symbol));
  return items_.back().second;
}

void Builder::assert_size(const Size& condition, const std::string& message) {
  const ir::Bounds bounds = condition.bounds();
  if (bounds.lower >= 1) return;
  if (std::find(disbelieved_.begin(), disbelieved_.end(), condition) != disbelieved_.end()) return;
  if (bounds.upper <= 0) throw InvalidProgram(message);
  graph_.add(ir::Assert{condition, message}, {}, {}, origin_);
}

void Builder::assert_tensor(const Tensor& condition, const std::string& message) {
  graph_.add(ir::Assert{std::nullopt, message}, {condition.value}, {}, origin_);
}

std::vector<Tensor> Builder::add(Primitive primitive, const std::vector<Tensor>& inputs,
                                 const std::vector<std::pair<DType, Shape>>& outputs) {
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) ids.push_back(input.value);
  const NodeId id = add_node(std::move(primitive), std::move(ids), outputs);
  std::vector<Tensor> tensors;
  for (ValueId output : graph_.node(id).outputs) tensors.push_back(tensor_of(output));
  return tensors;
}

// ---- Views.

namespace {
/// The graph value's shape: with the pair axis of a complex tensor.
Shape underlying_shape(const Shape& shape, DType dtype) {
  return is_complex(dtype) ? joined(shape, {Size(2)}) : shape;
}
/// Calls `positions` on the logical axes and puts the pair axis, if there is one, behind its
/// result.
Indices split_pair(const Indices& index, bool pair,
                   const std::function<Indices(Indices)>& positions) {
  Indices logical = index;
  if (!pair) return positions(std::move(logical));
  const Expr last = logical.back();
  logical.pop_back();
  Indices result = positions(std::move(logical));
  result.push_back(last);
  return result;
}
}  // namespace

Tensor Builder::read_view(const Tensor& base, const View& view) {
  const DType dtype = view.dtype.value_or(base.dtype);
  const bool pair = base.complex() && is_complex(dtype);
  const Tensor raw{base.value, base.component(), graph_.value(base.value).shape};
  Tensor result = map(underlying_shape(view.shape, dtype), [&](const Indices& index) {
    Expr element =
        load(raw, split_pair(index, pair, [&](Indices i) { return view.forward(*this, i); }));
    const DType component = is_complex(dtype) ? complex_component(dtype) : dtype;
    if (component != element.dtype()) element = expr(pool().bitcast(component, element.id));
    return element;
  });
  return Tensor{result.value, dtype, view.shape};
}

Tensor Builder::write_view(const Tensor& base, const View& view, const Tensor& updated) {
  if (!view.inverse) throw Unsupported("writing through this view");
  const DType dtype = view.dtype.value_or(base.dtype);
  const bool pair = base.complex() && is_complex(dtype);
  const Tensor raw_base{base.value, base.component(), graph_.value(base.value).shape};
  const Tensor raw_updated{updated.value, updated.component(), graph_.value(updated.value).shape};
  Tensor result = map(raw_base.shape, [&](const Indices& index) {
    View::Preimage preimage;
    Indices positions = split_pair(index, pair, [&](Indices i) {
      preimage = view.inverse(*this, i);
      return preimage.index;
    });
    Expr fresh = masked_load(raw_updated, preimage.inside, positions);
    if (fresh.dtype() != raw_base.dtype) {
      fresh =
          view.dtype ? expr(pool().bitcast(raw_base.dtype, fresh.id)) : cast(raw_base.dtype, fresh);
    }
    return select(preimage.inside, fresh, load(raw_base, index));
  });
  return Tensor{result.value, base.dtype, base.shape};
}

// ---- Symbols.

ir::SymbolRef Builder::fresh_symbol(const std::optional<Size>& expected, std::int64_t lower,
                                    std::int64_t upper) {
  auto symbol = std::make_shared<ir::Symbol>();
  symbol->from_data = true;
  symbol->lower = lower;
  symbol->upper = upper;
  symbol->name = name_prefix + "d" + std::to_string(fresh_symbols_++);
  const ir::SymbolRef exported = expected ? expected->as_symbol() : nullptr;
  if (exported != nullptr && exported->from_data) {
    symbol->name = exported->name;
    // Where nothing else bounds the value, export's range does; the run checks that it holds.
    if (upper == ir::kUnbounded) {
      symbol->lower = std::max(symbol->lower, exported->lower);
      symbol->upper = exported->upper;
    }
    symbol->hint = exported->hint;
    replace_symbol(exported.get(), Size::symbol(symbol));
  }
  return symbol;
}

Size Builder::resolve(const Size& size) const {
  if (size.is_constant() || replacements_.empty()) return size;
  return size.substitute([&](const ir::Symbol& symbol) -> std::optional<Size> {
    const auto it = replacements_.find(&symbol);
    return it == replacements_.end() ? std::nullopt : std::optional(it->second);
  });
}

Shape Builder::resolve(std::span<const Size> shape) const {
  Shape result;
  for (const Size& size : shape) result.push_back(resolve(size));
  return result;
}

void Builder::replace_symbol(const ir::Symbol* symbol, Size replacement) {
  replacements_.insert_or_assign(symbol, std::move(replacement));
}

}  // namespace tendon::aten
