// A vector that only grows, in chunks: elements never move, so references to them stay valid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tendon::ir {

/// Of trivially copyable elements, in chunks of 2^kBits.
template <typename T, int kBits>
class StableVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kChunk = std::size_t{1} << kBits;

  StableVector() = default;
  StableVector(const StableVector& other) { *this = other; }
  StableVector(StableVector&& other) noexcept { *this = std::move(other); }
  StableVector& operator=(const StableVector& other) {
    if (this == &other) return *this;
    chunks_.clear();
    for (std::size_t first = 0; first < other.size_; first += kChunk) {
      const std::size_t count = std::min(kChunk, other.size_ - first);
      std::copy_n(other.chunks_[first >> kBits].get(), count, add_chunk());
    }
    size_ = other.size_;
    return *this;
  }
  StableVector& operator=(StableVector&& other) noexcept {
    chunks_ = std::move(other.chunks_);
    size_ = std::exchange(other.size_, 0);
    other.chunks_.clear();
    return *this;
  }

  std::size_t size() const { return size_; }
  const T& operator[](std::size_t i) const { return chunks_[i >> kBits][i & (kChunk - 1)]; }
  std::span<const T> slice(std::size_t first, std::size_t count) const {
    return count == 0 ? std::span<const T>() : std::span(&(*this)[first], count);
  }

  void push_back(const T& value) { append(std::span(&value, 1)); }
  /// Copies at most kChunk elements so that they lie together; returns the position of the first.
  /// The elements may be the vector's own.
  std::size_t append(std::span<const T> values) {
    if ((size_ & (kChunk - 1)) + values.size() > kChunk) {
      T* chunk = chunks_.back().get();
      std::fill(chunk + (size_ & (kChunk - 1)), chunk + kChunk, T{});
      size_ = chunks_.size() * kChunk;
    }
    const std::size_t first = size_;
    if (!values.empty()) {
      if (first == chunks_.size() * kChunk) add_chunk();
      std::copy(values.begin(), values.end(), &chunks_[first >> kBits][first & (kChunk - 1)]);
    }
    size_ += values.size();
    return first;
  }

 private:
  T* add_chunk() { return chunks_.emplace_back(std::make_unique_for_overwrite<T[]>(kChunk)).get(); }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace tendon::ir
