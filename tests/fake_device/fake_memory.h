#pragma once

namespace tendon::test {

bool is_device_memory(const void* data);

}  // namespace tendon::test
