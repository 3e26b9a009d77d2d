# One static library per room: every .cpp directly in the calling folder's ROOM, linked to the rooms it may include.
# COLD: it reads, maps and describes, and no loop of it is hot: -O1, of which the compiler takes three quarters of the time.
#   lockstep_room(base FOLDER engine/base LINKS nlohmann_json::nlohmann_json)  ->  target lockstep_base
function(lockstep_room name)
  cmake_parse_arguments(ROOM "COLD" "FOLDER" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ROOM_FOLDER}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  add_library(lockstep_${name} STATIC ${sources})
  target_include_directories(lockstep_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(lockstep_${name} PUBLIC ${ROOM_LINKS})
  lockstep_warnings(lockstep_${name})
  set(header_owner lockstep_base)
  if(ROOM_COLD)
    lockstep_cold(lockstep_${name})
    set(header_owner lockstep_model)   # the first of them: GCC 13 and later refuse a header that was optimised otherwise
  endif()
  lockstep_precompiled(lockstep_${name} ${header_owner})
  lockstep_together(lockstep_${name} 16)
endfunction()

# Up to `files` of a target's sources are one for the compiler, so that what they all include is read and compiled once:
# names in their anonymous namespaces are the room's. More at once would keep one core busy when the other is done.
function(lockstep_together target files)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(LOCKSTEP_UNITY AND count GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

# GCC 13 and later unroll small loops at -O2 and refuse a precompiled header that was made with another setting.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-munroll-only-small-loops LOCKSTEP_UNROLLS_SMALL_LOOPS)
function(lockstep_cold target)
  set(options -O1)
  if(LOCKSTEP_UNROLLS_SMALL_LOOPS AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    list(APPEND options -munroll-only-small-loops)
  endif()
  target_compile_options(${target} PRIVATE "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:${options}>")
endfunction()

# Parsing the JSON library takes up to half the time of a small file. `owner` compiles it once, into a header that
# others take with lockstep_precompiled(TARGET owner): targets of the same language options, all optimised or none, or
# the compiler refuses it. A source that needs flags of its own says SKIP_PRECOMPILE_HEADERS. Files include what they use
# all the same: CMAKE_DISABLE_PRECOMPILE_HEADERS builds without, and bootstrap sets it where ccache does the saving.
function(lockstep_precompile owner)
  set(headers nlohmann/json.hpp algorithm cmath filesystem functional map memory optional string vector)
  list(TRANSFORM headers REPLACE "(.+)" "<\\1$<ANGLE-R>")
  target_precompile_headers(${owner} PRIVATE ${headers} ${ARGN})
endfunction()

function(lockstep_precompiled target owner)
  if(NOT target STREQUAL owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

function(lockstep_warnings target)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
  set(cuda_warnings -Xcompiler=-Wall,-Wextra,-Wshadow)   # what nvcc writes between is not pedantic
  if(LOCKSTEP_WERROR)
    list(APPEND warnings -Werror)
    list(APPEND cuda_warnings -Werror=all-warnings)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
                                           "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_warnings}>")
endfunction()
