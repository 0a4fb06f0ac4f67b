// Distinct elements: how many there are, only the data knows.
#include "aten/index_list.h"
#include "aten/operator.h"
#include "aten/scatter_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

/// Runs of equal neighbours in a sequence of n elements.
struct Runs {
  Tensor starts;  // int64 [count]: where each run begins
  Tensor number;  // int64 [n]: which run each element is in
  Size n;
};

/// `differs` tells for element i >= 1 whether it differs from its left neighbour.
Runs runs_of(Builder& b, const Size& n, const std::function<Tensor(void)>& differs,
             const std::optional<Size>& expected) {
  Runs runs;
  runs.n = n;
  const Tensor changes = differs();  // bool [n]
  runs.starts = b.compact(changes, expected);
  const Tensor counted = b.scan(ir::ScanOp::kSum, 0, {n}, [&](const Indices& i) {
    return cast(DType::kInt64, b.load(changes, i));
  })[0];
  runs.number = b.map({n}, [&](const Indices& i) { return b.load(counted, i) - 1; });
  return runs;
}

Tensor run_lengths(Builder& b, const Runs& runs) {
  const Size count = runs.starts.size(0);
  return b.map({count}, [&](const Indices& i) {
    const Expr more = i[0] + 1 < b.size(count);
    const Expr next = b.masked_load(runs.starts, more, {i[0] + 1});
    return select(more, next, b.size(runs.n)) - b.load(runs.starts, i);
  });
}

Tensor nothing(Builder& b) { return full(b, {Size(0)}, std::int64_t{0}, DType::kInt64); }

/// Where elements of a sequence differ from the ones before them.
Tensor changes_of(Builder& b, const Tensor& x) {
  return b.map(x.shape, [&](const Indices& i) {
    const Expr later = i[0] > 0;
    const Expr before = b.masked_load(x, later, {i[0] - 1});
    return !later || before != b.load(x, i);
  });
}

/// The same for slices along axis 0 of a matrix.
Tensor row_changes_of(Builder& b, const Tensor& rows) {
  const Tensor any =
      b.reduce(ReduceOp::kAny, {rows.size(0)}, {rows.size(1)}, [&](const Indices& i) {
        const Expr later = i[0] > 0;
        return b.masked_load(rows, later, {i[0] - 1, i[1]}) != b.load(rows, i);
      });
  return b.map(any.shape, [&](const Indices& i) { return i[0] == 0 || b.load(any, i); });
}

/// values[order[i]] = source[i].
Tensor put_back(Builder& b, const Tensor& source, const Tensor& order) {
  ScatterPlan plan;
  plan.domain = source.shape;
  plan.source = source;
  plan.source_position = [](const Indices& i) { return i; };
  plan.target = [&](const Indices& i) {
    return Indices{checked_element(b, order, i, source.size(0), "")};
  };
  return scatter_plan(b, ir::ScatterOp::kAssign,
                      full(b, source.shape, std::int64_t{0}, DType::kInt64), plan);
}

/// Export records other types than int64 for the positions and the counts.
Outputs unlike_export(Outputs outputs) {
  outputs.unlike_export = true;
  return outputs;
}

struct Wanted {
  bool inverse = false, counts = false;
};

Wanted wanted(const Arguments& arguments) {
  return {arguments.boolean("return_inverse"),
          arguments.has("return_counts") && arguments.boolean("return_counts")};
}

/// Distinct elements of all of `self`, sorted or (consecutive) as they come.
Outputs unique_elements(Builder& b, const Arguments& arguments, bool consecutive) {
  const Tensor& self = arguments.tensor("self");
  if (self.complex()) throw Unsupported("complex numbers");
  const Wanted want = wanted(arguments);
  Tensor values = flatten(b, self), order;
  if (!consecutive) std::tie(values, order) = b.sort(values, 0, false);
  const Runs runs = runs_of(
      b, values.size(0), [&] { return changes_of(b, values); }, expected_data_size(arguments));
  const Tensor distinct = rearrange(b, values, runs.starts.shape, [&](const Indices& i) {
    return Indices{b.load(runs.starts, i)};
  });
  Tensor inverse = nothing(b);
  if (want.inverse) {
    inverse = consecutive ? runs.number : put_back(b, runs.number, order);
    inverse = reshape(b, inverse, self.shape);
  }
  return unlike_export({distinct, inverse, want.counts ? run_lengths(b, runs) : nothing(b)});
}

/// Rows in lexicographic order: stable sorts from the last column to the first.
Tensor lexicographic_order(Builder& b, const Tensor& rows) {
  constexpr std::int64_t kMostColumns = 64;
  const std::int64_t columns = require_constant(rows.size(1), "the size of a slice");
  if (columns > kMostColumns) {
    throw Unsupported("sorting slices of more than " + std::to_string(kMostColumns) + " elements");
  }
  Tensor order = positions_along(b, rows.size(0));
  for (std::int64_t column = columns; column-- > 0;) {
    const Tensor keys = b.map({rows.size(0)}, [&](const Indices& i) {
      const Expr row =
          b.check_index(b.load(order, i), rows.size(0), {.wrap = false, .message = ""});
      return b.load(rows, {row, b.constant(DType::kInt64, column)});
    });
    const Tensor next = b.sort(keys, 0, false).second;
    order = b.map({rows.size(0)}, [&, previous = order](const Indices& i) {
      return b.load(previous,
                    {b.check_index(b.load(next, i), rows.size(0), {.wrap = false, .message = ""})});
    });
  }
  return order;
}

Outputs unique_slices(Builder& b, const Arguments& arguments, std::int64_t dim, bool consecutive) {
  const Tensor& self = arguments.tensor("self");
  if (self.complex()) throw Unsupported("complex numbers");
  const Wanted want = wanted(arguments);
  const int axis = wrap_axis(dim, self.rank());
  if (self.rank() == 0) throw Unsupported("a 0-d tensor");
  const Tensor front = transpose(b, self, 0, axis);
  Size columns = 1;
  for (int k = 1; k < front.rank(); ++k) columns = columns * front.size(k);
  const Tensor rows = reshape(b, front, {front.size(0), columns});
  Tensor ordered = rows, order;
  if (!consecutive) {
    order = lexicographic_order(b, rows);
    ordered = b.map(rows.shape, [&](const Indices& i) {
      return b.load(
          rows, {b.check_index(b.load(order, {i[0]}), rows.size(0), {.wrap = false, .message = ""}),
                 i[1]});
    });
  }
  const Runs runs = runs_of(
      b, rows.size(0), [&] { return row_changes_of(b, ordered); }, expected_data_size(arguments));
  const Tensor distinct =
      rearrange(b, ordered, {runs.starts.size(0), columns}, [&](const Indices& i) {
        return Indices{b.load(runs.starts, {i[0]}), i[1]};
      });
  Shape shape = front.shape;
  shape[0] = runs.starts.size(0);
  const Tensor inverse = !want.inverse ? nothing(b)
                         : consecutive ? runs.number
                                       : put_back(b, runs.number, order);
  return unlike_export({transpose(b, reshape(b, distinct, shape), 0, axis), inverse,
                        want.counts ? run_lengths(b, runs) : nothing(b)});
}

}  // namespace

OPERATOR(unique2,
         "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
         "return_counts=False) -> (Tensor, Tensor, Tensor)") {
  return unique_elements(b, arguments, false);
}
OPERATOR(unique,
         "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)") {
  Outputs outputs = unique_elements(b, arguments, false);
  outputs.pop_back();
  return outputs;
}
OPERATOR(
    unique_consecutive,
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? "
    "dim=None) -> (Tensor, Tensor, Tensor)") {
  const auto dim = arguments.optional_integer("dim");
  return dim ? unique_slices(b, arguments, *dim, true) : unique_elements(b, arguments, true);
}
OPERATOR(unique_dim,
         "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
         "return_counts=False) -> (Tensor, Tensor, Tensor)") {
  return unique_slices(b, arguments, arguments.integer("dim"), false);
}
OPERATOR(unique_dim_consecutive,
         "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool "
         "return_counts=False) -> (Tensor, Tensor, Tensor)") {
  return unique_slices(b, arguments, arguments.integer("dim"), true);
}

}  // namespace tendon::aten
