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
if(TARGET python_package)
  add_dependencies(programs python_package)
endif()
# Completion for bash and zsh, from each program's own options.
set(completions)
set(folder ${CMAKE_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${folder})
foreach(program IN ITEMS simulate calibrate train plan validate)
  if(TARGET ${program})
    add_custom_command(OUTPUT ${folder}/${program} ${folder}/_${program}
                       COMMAND ${program} --completion bash > ${folder}/${program}
                       COMMAND ${program} --completion zsh > ${folder}/_${program}
                       DEPENDS ${program} COMMENT "Completion of ${program}" VERBATIM)
    list(APPEND completions ${folder}/${program} ${folder}/_${program})
    install(FILES ${folder}/${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${folder}/_${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  endif()
endforeach()
add_custom_target(completions ALL DEPENDS ${completions})
add_dependencies(programs completions)
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep FILES_MATCHING PATTERN "*.json"
        PATTERN "launch/*.sh" PATTERN "launch/*.y*ml" PATTERN "launch/*.toml")
install(DIRECTORY results/profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/results OPTIONAL
        FILES_MATCHING PATTERN "*.json")
install(PROGRAMS calib/torch/lockstep_probe.py DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep)
install(FILES ${CMAKE_SOURCE_DIR}/build/lockstep.html DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep OPTIONAL)   # of ./bootstrap page
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
# What a file's keys mean, in the folders that the README refers to; and the profile of a scenario that names it.
foreach(room IN ITEMS sim sim/python sim/scenario sim/convergence sim/plan calib engine engine/model)
  install(FILES ${room}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/${room} OPTIONAL)
endforeach()
install(FILES results/host_chain/profile.json DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/results/host_chain)

# "./bootstrap package": one .deb of the above. What a program links is found by dpkg-shlibdeps, so the package asks for
# the libraries of the Debian that it was built on.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)   # tests and benchmarks are not in it and need not be built for it
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_CONTACT "Lockstep maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
