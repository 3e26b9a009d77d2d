# "cmake --install build": the programs of this build, the scenarios with all that they refer to, and man pages where
# a program has one (PROGRAM.1 beside its PROGRAM_main.cpp). The target "programs" builds what is installed, and no more.
add_custom_target(programs)
foreach(program IN ITEMS simulate calibrate train plan validate)
  if(TARGET ${program})
    add_dependencies(programs ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    get_target_property(folder ${program} SOURCE_DIR)
    if(EXISTS ${folder}/${program}.1)
      install(FILES ${folder}/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    endif()
  endif()
endforeach()
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep FILES_MATCHING PATTERN "*.json")
install(DIRECTORY results/profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/results OPTIONAL
        FILES_MATCHING PATTERN "*.json")
install(PROGRAMS calib/torch/lockstep_probe.py DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
