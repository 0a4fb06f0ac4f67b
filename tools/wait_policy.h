// How long idle threads spin before they sleep.
#pragma once

namespace tendon::tools {

/// Starts the process again with GOMP_SPINCOUNT set to 1000 for every thread but the first, unless
/// the environment already says how OpenMP's threads shall wait (GOMP_SPINCOUNT or
/// OMP_WAIT_POLICY). The OpenMP runtime reads it before main, so that nothing less will do. Does
/// nothing where it cannot.
///
/// Between the kernels of a call, a few microseconds, threads must spin; between the calls of a
/// control loop they had better sleep. GNU's runtime spins for about 6 ms by default, which takes
/// the processor from whoever produces the next input, and makes calls many times as long where
/// another process has taken one of the cores; 1000 turns are about 30 microseconds. Sleeping
/// threads are woken one after the other, so that with more of them it pays to wait for longer: as
/// long as waking them would take.
void choose_wait_policy(char** arguments);

}  // namespace tendon::tools
