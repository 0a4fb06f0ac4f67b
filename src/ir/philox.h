// Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
#pragma once

#include <array>
#include <cstdint>

namespace tendon::ir {

/// One block: four words from a 128-bit counter and a 64-bit key.
constexpr std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter,
                                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Op::kPhilox: word counter % 4 of block counter / 4 of that stream, with the seed as the key.
constexpr std::int64_t philox_bits(std::int64_t seed, std::int64_t stream, std::int64_t counter) {
  const auto block = static_cast<std::uint64_t>(counter) / 4;
  const auto high = static_cast<std::uint64_t>(stream);
  const auto key = static_cast<std::uint64_t>(seed);
  const auto words =
      philox_block({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                    static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)},
                   {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
  return words[static_cast<std::uint64_t>(counter) % 4];
}

}  // namespace tendon::ir
