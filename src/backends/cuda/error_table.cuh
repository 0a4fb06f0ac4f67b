// The record of what kernels found wrong with the data; its layout is check_table.h's.
#pragma once

namespace tendon::device {

struct ErrorRecord {
  int taken;
  int unused;
  long long value;
  long long size;
};
struct ErrorTable {
  int lowest;  // check that failed
  int unused;
  ErrorRecord records[1];  // one for every check
};

/// Of several failures of one check, one is kept.
inline __device__ void check_failed(ErrorTable* errors, int check, long long value,
                                    long long size) {
  ErrorRecord& record = errors->records[check];
  if (atomicExch(&record.taken, 1) == 0) {
    record.value = value;
    record.size = size;
  }
  atomicMin(&errors->lowest, check);
}

/// See ir::IndexCheck.
inline __device__ long long check_index(long long position, long long size, bool wrap, int check,
                                        ErrorTable* errors) {
  const long long at = wrap && position < 0 ? position + size : position;
  if (at >= 0 && at < size) return at;
  check_failed(errors, check, position, size);
  return 0;
}

}  // namespace tendon::device
