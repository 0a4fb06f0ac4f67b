// Random index lists against a reference that only follows the rules.
#include <gtest/gtest.h>

#include <random>

#include "aten/test_operator.h"

namespace tendon::aten::testing {
namespace {

std::vector<Sizes> index_points(const Sizes& sizes) {
  std::vector<Sizes> points;
  const std::int64_t count = element_count(sizes);
  for (std::int64_t flat = 0; flat < count; ++flat) {
    Sizes point(sizes.size());
    std::int64_t rest = flat;
    for (std::size_t k = sizes.size(); k-- > 0;) {
      point[k] = rest % sizes[k];
      rest /= sizes[k];
    }
    points.push_back(point);
  }
  return points;
}

std::int64_t flat_position(const Sizes& point, const Sizes& sizes) {
  std::int64_t flat = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) flat = flat * sizes[k] + point[k];
  return flat;
}

/// The elements of self that a list selects, as flat positions, and their shape; nothing where
/// PyTorch raises.
struct Selection {
  Sizes sizes;
  std::vector<std::int64_t> positions;
};

std::optional<Selection> reference(const Sizes& self, const List& list) {
  if (list.size() > self.size()) return std::nullopt;
  // Masks become one vector for each of their axes.
  List entries;
  for (const auto& entry : list) {
    if (!entry || entry->dtype != DType::kBool) {
      entries.push_back(entry);
      continue;
    }
    std::vector<Literal> columns(entry->sizes.size(), ints({0}, {}));
    for (std::size_t k = 0; k < entry->sizes.size(); ++k) {
      const std::size_t axis = entries.size() + k;
      if (axis >= self.size() || self[axis] != entry->sizes[k]) return std::nullopt;
    }
    const auto points = index_points(entry->sizes);
    for (std::size_t p = 0; p < points.size(); ++p) {
      if (entry->elements[p] == 0) continue;
      for (std::size_t k = 0; k < columns.size(); ++k) {
        columns[k].elements.push_back(static_cast<double>(points[p][k]));
        ++columns[k].sizes[0];
      }
    }
    entries.insert(entries.end(), columns.begin(), columns.end());
  }
  if (entries.size() > self.size()) return std::nullopt;
  entries.resize(self.size());
  // Broadcast.
  Sizes common;
  for (const auto& entry : entries) {
    if (!entry) continue;
    if (entry->sizes.size() > common.size()) {
      common.insert(common.begin(), entry->sizes.size() - common.size(), 1);
    }
  }
  for (const auto& entry : entries) {
    if (!entry) continue;
    const std::size_t added = common.size() - entry->sizes.size();
    for (std::size_t k = 0; k < entry->sizes.size(); ++k) {
      std::int64_t& size = common[added + k];
      if (entry->sizes[k] == 1) continue;
      if (size != 1 && size != entry->sizes[k]) return std::nullopt;
      size = entry->sizes[k];
    }
  }
  // Where the indexed axes go.
  std::vector<std::size_t> indexed, others;
  for (std::size_t axis = 0; axis < self.size(); ++axis) {
    (entries[axis] ? indexed : others).push_back(axis);
  }
  const bool adjacent = indexed.back() - indexed.front() + 1 == indexed.size();
  const std::size_t leading = adjacent ? indexed.front() : 0;
  Selection selection;
  selection.sizes.assign(self.begin(), self.begin() + static_cast<std::ptrdiff_t>(leading));
  selection.sizes.insert(selection.sizes.end(), common.begin(), common.end());
  for (const std::size_t axis : others) {
    if (axis >= leading) selection.sizes.push_back(self[axis]);
  }
  for (const std::size_t axis : indexed) {
    if (self[axis] == 0 && element_count(common) > 0) return std::nullopt;
  }
  for (const Sizes& point : index_points(selection.sizes)) {
    Sizes at(self.size());
    std::size_t before = 0, after = leading + common.size();
    for (std::size_t axis = 0; axis < self.size(); ++axis) {
      if (!entries[axis]) {
        at[axis] = point[axis < leading ? before++ : after++];
        continue;
      }
      const Literal& entry = *entries[axis];
      Sizes inner;
      const std::size_t added = common.size() - entry.sizes.size();
      for (std::size_t k = 0; k < entry.sizes.size(); ++k) {
        inner.push_back(entry.sizes[k] == 1 ? 0 : point[leading + added + k]);
      }
      auto value = static_cast<std::int64_t>(
          entry.elements[static_cast<std::size_t>(flat_position(inner, entry.sizes))]);
      if (value < -self[axis] || value >= self[axis]) return std::nullopt;
      at[axis] = value < 0 ? value + self[axis] : value;
    }
    selection.positions.push_back(flat_position(at, self));
  }
  return selection;
}

class RandomLists {
 public:
  explicit RandomLists(unsigned seed) : generator_(seed) {}
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }
  Sizes sizes() {
    Sizes result(static_cast<std::size_t>(number(1, 4)));
    for (auto& size : result) size = number(0, 9) == 0 ? 0 : number(1, 4);
    return result;
  }
  /// At least one entry that is not None.
  List list(const Sizes& self) {
    List result;
    std::size_t axis = 0;
    const Sizes common = {number(1, 3), number(1, 3)};
    while (axis < self.size()) {
      const std::int64_t kind = number(0, 9);
      if (kind < 3) {
        result.emplace_back(std::nullopt);
        ++axis;
      } else if (kind < 5 && axis + 1 < self.size()) {
        result.emplace_back(mask({self[axis], self[axis + 1]}));
        axis += 2;
      } else if (kind < 6) {
        result.emplace_back(mask({self[axis]}));
        ++axis;
      } else {
        result.emplace_back(positions(self[axis], common));
        ++axis;
      }
      if (number(0, 5) == 0) break;
    }
    for (const auto& entry : result) {
      if (entry) return result;
    }
    return {positions(self[0], common)};
  }

 private:
  Literal mask(Sizes sizes) {
    Literal result = filled(DType::kBool, std::move(sizes), 0);
    for (double& element : result.elements) element = static_cast<double>(number(0, 1));
    return result;
  }
  Literal positions(std::int64_t size, const Sizes& common) {
    Sizes sizes(common.end() - number(0, 2), common.end());
    for (auto& extent : sizes) {
      if (number(0, 3) == 0) extent = 1;
    }
    Literal result = filled(DType::kInt64, std::move(sizes), 0);
    const bool bad = number(0, 19) == 0;
    for (double& element : result.elements) {
      element =
          static_cast<double>(number(-size - (bad ? 1 : 0), std::max<std::int64_t>(size - 1, 0)));
    }
    return result;
  }
  std::mt19937 generator_;
};

std::string describe(const Sizes& self, const List& list) {
  std::string text = "self " + to_string(filled(DType::kInt64, self, 0));
  for (const auto& entry : list) text += "\n  " + (entry ? to_string(*entry) : "None");
  return text;
}

TEST(IndexingProperty, ReadsWhatTheRulesSelect) {
  RandomLists random(7);
  int right = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const Sizes sizes = random.sizes();
    const List list = random.list(sizes);
    SCOPED_TRACE(describe(sizes, list));
    const Literal self = counting(sizes);
    const std::optional<Selection> expected = reference(sizes, list);
    const Result<std::vector<Literal>> result =
        run({"aten.index.Tensor", {{"self", self}, {"indices", list}}});
    if (!expected) {
      ++refused;
      ASSERT_FALSE(result.ok());
      continue;
    }
    ++right;
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    Literal literal = ints(expected->sizes, {});
    for (const std::int64_t at : expected->positions) {
      literal.elements.push_back(static_cast<double>(at));
    }
    ASSERT_EQ(result->front(), literal) << to_string(result->front());
  }
  EXPECT_GT(right, 1000);
  EXPECT_GT(refused, 100);
}

TEST(IndexingProperty, WritesInOrder) {
  RandomLists random(11);
  int right = 0;
  for (int i = 0; i < 1000; ++i) {
    const Sizes sizes = random.sizes();
    const List list = random.list(sizes);
    SCOPED_TRACE(describe(sizes, list));
    const std::optional<Selection> expected = reference(sizes, list);
    if (!expected) continue;
    const bool accumulate = random.number(0, 1) == 1;
    Literal values = ints(expected->sizes, {});
    for (std::size_t k = 0; k < expected->positions.size(); ++k) {
      values.elements.push_back(static_cast<double>(1000 + k));
    }
    const Literal self = counting(sizes);
    Literal wanted = self;
    for (std::size_t k = 0; k < expected->positions.size(); ++k) {
      double& element = wanted.elements[static_cast<std::size_t>(expected->positions[k])];
      element = values.elements[k] + (accumulate ? element : 0);
    }
    const Result<std::vector<Literal>> result =
        run({"aten.index_put.default",
             {{"self", self}, {"indices", list}, {"values", values}, {"accumulate", accumulate}}});
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    ASSERT_EQ(result->front(), wanted) << to_string(result->front());
    ++right;
  }
  EXPECT_GT(right, 500);
}

}  // namespace
}  // namespace tendon::aten::testing
