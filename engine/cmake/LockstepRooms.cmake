# One static library per room: every .cpp directly in the calling folder's ROOM, linked to the rooms it may include.
#   lockstep_room(base FOLDER engine/base LINKS nlohmann_json::nlohmann_json)  ->  target lockstep_base
function(lockstep_room name)
  cmake_parse_arguments(ROOM "" "FOLDER" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ROOM_FOLDER}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  add_library(lockstep_${name} STATIC ${sources})
  target_include_directories(lockstep_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(lockstep_${name} PUBLIC ${ROOM_LINKS})
  lockstep_warnings(lockstep_${name})
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
