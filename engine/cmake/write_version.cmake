# Run at every build: writes OUTPUT from TEMPLATE when the state of the source tree has changed.
execute_process(COMMAND git -c safe.directory=* -C ${SOURCE} describe --always --dirty --abbrev=12
                OUTPUT_VARIABLE LOCKSTEP_GIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT LOCKSTEP_GIT)   # a copy of the tree without its history: who copied it may know
  set(LOCKSTEP_GIT "$ENV{LOCKSTEP_GIT}")
endif()
if(NOT LOCKSTEP_GIT)
  set(LOCKSTEP_GIT "unknown")
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
