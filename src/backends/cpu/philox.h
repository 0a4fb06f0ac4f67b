// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <cstdint>

namespace tendon::backends::cpu {

/// 32 random bits: word counter % 4 of block counter / 4 of that stream, with the seed as the key.
inline std::int64_t philox_bits(std::int64_t seed, std::int64_t stream, std::int64_t counter) {
  const auto block = static_cast<std::uint64_t>(counter) / 4;
  const auto high = static_cast<std::uint64_t>(stream);
  std::uint32_t x[4] = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                        static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(static_cast<std::uint64_t>(seed) >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * x[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * x[2];
    const std::uint32_t y0 = static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ key0;
    const std::uint32_t y2 = static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ key1;
    x[1] = static_cast<std::uint32_t>(p1);
    x[3] = static_cast<std::uint32_t>(p0);
    x[0] = y0;
    x[2] = y2;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x[static_cast<std::uint64_t>(counter) % 4];
}

}  // namespace tendon::backends::cpu
