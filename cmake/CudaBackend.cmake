# The CUDA backend, where there is a toolkit: the library tendon_backends_cuda for tests, and
# libtendon_cuda.so, which the runtime loads when a program asks for the device. Kernels are
# generated and compiled at run time, so that no nvcc takes part.
option(TENDON_CUDA "Build the CUDA backend where the CUDA toolkit is found" ON)
if(NOT TENDON_CUDA)
  return()
endif()
find_package(CUDAToolkit 12.4 QUIET)
if(NOT CUDAToolkit_FOUND)
  message(STATUS "No CUDA toolkit: building without the CUDA backend")
  return()
endif()

set(folder ${PROJECT_SOURCE_DIR}/src/backends/cuda)
file(GLOB device_code CONFIGURE_DEPENDS ${folder}/*.cuh)
set(entries "")
foreach(file ${device_code})
  get_filename_component(name ${file} NAME)
  list(APPEND entries ${name}=${file})
endforeach()
foreach(name ir/op.h ir/philox.h ir/scalar_math.h ir/sort_keys.h ir/special_functions.h
    ir/special_functions.cpp)
  list(APPEND entries ${name}=${PROJECT_SOURCE_DIR}/src/${name})
  list(APPEND device_code ${PROJECT_SOURCE_DIR}/src/${name})
endforeach()
set(embedded ${PROJECT_BINARY_DIR}/embedded/embedded_device_code.h)
add_custom_command(OUTPUT ${embedded}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${embedded} "-DFILES=${entries}"
    -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
  DEPENDS ${device_code} ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake VERBATIM)

tendon_component(backends/cuda PUBLIC tendon_schedule tendon_tensor CUDA::cudart_static CUDA::nvrtc
  PRIVATE ${CMAKE_DL_LIBS})
target_sources(tendon_backends_cuda PRIVATE ${embedded})
target_include_directories(tendon_backends_cuda PRIVATE ${PROJECT_BINARY_DIR}/embedded)

# One library with everything inside, next to the programs that load it.
add_library(tendon_cuda SHARED ${folder}/cuda_backend.cpp)
target_link_libraries(tendon_cuda PRIVATE tendon_options tendon_backends_cuda)
target_link_options(tendon_cuda PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(tendon_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} CXX_VISIBILITY_PRESET hidden)
