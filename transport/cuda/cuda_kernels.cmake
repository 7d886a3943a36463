# Compiles the kernels of the device `cuda` into the file that cuda/cuda_image.c embeds.
#
#   nvcc    if it works here: machine code for sm_75, 80 and 90, and PTX for what is newer
#   clang   otherwise: PTX 6.3, which the driver compiles; it needs nothing of NVIDIA's
#   none    otherwise: the file is empty, and rows are cast on the host
#
# -DTND_NVCC=PATH and -DTND_CUDA_CLANG=PATH name the compilers; OFF does without.
set(source ${CMAKE_CURRENT_SOURCE_DIR}/cuda/cuda_kernels.cu)
set(image ${CMAKE_CURRENT_BINARY_DIR}/cuda_kernels.image)

# Where `tools/setup --cuda` installs nvcc.
file(GLOB wheel ${CMAKE_SOURCE_DIR}/build/cuda/lib/python3*/site-packages/nvidia/cu13/bin)
find_program(TND_NVCC nvcc HINTS ${wheel} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
find_program(TND_CUDA_CLANG NAMES clang-14 clang clang-15 clang-16 clang-17 clang-18 clang-19)

# A register that does not fit is an error, as all warnings are.  The version of the host's compiler does
# not matter, because no header of the host is read.
set(by_nvcc ${TND_NVCC} -fatbin -std=c++17 -O3 --fmad=false -allow-unsupported-compiler -Werror all-warnings
            -Xptxas --warn-on-spills,--warn-on-local-memory-usage -I${CMAKE_SOURCE_DIR}
            -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80
            -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75)
# Any folder without a CUDA Toolkit: clang refuses to start if it finds one that is newer than itself.
set(by_clang ${TND_CUDA_CLANG} -x cuda --cuda-device-only --cuda-path=${CMAKE_CURRENT_BINARY_DIR} -nocudainc
             -nocudalib --cuda-gpu-arch=sm_75 -Xclang -target-feature -Xclang +ptx63 -std=c++17 -O3
             -ffp-contract=off -Wall -Wextra -Werror -I${CMAKE_SOURCE_DIR} -S)

# tnd_compiles_kernels(RESULT COMPILER COMMAND...): whether a kernel of one line can be compiled.  What could be
# is not tried again.
function(tnd_compiles_kernels result compiler)
    if(compiler AND "${TND_COMPILED_KERNELS}" STREQUAL "${ARGN}")
        set(${result} TRUE PARENT_SCOPE)
        return()
    endif()
    set(${result} FALSE PARENT_SCOPE)
    if(NOT compiler)
        return()
    endif()
    set(trial ${CMAKE_CURRENT_BINARY_DIR}/cuda_trial)
    file(WRITE ${trial}.cu "extern \"C\" __attribute__((global)) void trial(int *out) { *out = 1; }\n")
    execute_process(COMMAND ${ARGN} -o ${trial}.image ${trial}.cu RESULT_VARIABLE failed
                    OUTPUT_VARIABLE text ERROR_VARIABLE text)
    if(failed)
        string(STRIP "${text}" text)
        string(REGEX REPLACE "\n.*" "" text "${text}")
        message(STATUS "${compiler} cannot compile kernels: ${text}")
        return()
    endif()
    set(${result} TRUE PARENT_SCOPE)
    set(TND_COMPILED_KERNELS "${ARGN}" CACHE INTERNAL "the command that last compiled a kernel")
endfunction()

tnd_compiles_kernels(TND_NVCC_WORKS "${TND_NVCC}" ${by_nvcc})
if(TND_NVCC_WORKS)
    set(compile ${by_nvcc})
    message(STATUS "kernels of the device cuda: compiled by ${TND_NVCC}")
else()
    tnd_compiles_kernels(TND_CUDA_CLANG_WORKS "${TND_CUDA_CLANG}" ${by_clang})
    if(TND_CUDA_CLANG_WORKS)
        set(compile ${by_clang})
        message(STATUS "kernels of the device cuda: compiled by ${TND_CUDA_CLANG}")
    endif()
endif()

if(compile)
    add_custom_command(OUTPUT ${image} COMMAND ${compile} -o ${image} ${source}
                       DEPENDS ${source} ${CMAKE_CURRENT_SOURCE_DIR}/cuda/cuda_kernels.h
                               ${CMAKE_CURRENT_SOURCE_DIR}/cuda/cuda_reduction_kernels.h VERBATIM
                       COMMENT "Compiling the kernels of the device cuda")
    target_sources(tnd_transport PRIVATE ${image})
    set(casts 1)
else()
    # Another name: a compiler that is found later would take it for what it has to make.
    set(image ${CMAKE_CURRENT_BINARY_DIR}/cuda_kernels.none)
    file(CONFIGURE OUTPUT ${image} CONTENT "")
    set(casts 0)
    message(STATUS "kernels of the device cuda: neither nvcc nor clang works here, so rows for it are cast on the host")
endif()
set_source_files_properties(device/cuda.c PROPERTIES COMPILE_DEFINITIONS TND_CUDA_CASTS=${casts})
set_source_files_properties(cuda/cuda_image.c PROPERTIES OBJECT_DEPENDS ${image}
                            COMPILE_DEFINITIONS TND_CUDA_IMAGE="${image}")
