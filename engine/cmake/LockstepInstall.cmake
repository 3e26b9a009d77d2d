# "cmake --install build": the command lockstep (engine/lockstep), the programs that it runs, the scenarios with all that they
# refer to, and man pages: lockstep-PROGRAM.1 is PROGRAM.1 beside its PROGRAM_main.cpp. The target "programs" builds what is
# installed, and no more.
add_custom_target(programs)
set(programs)
foreach(program IN ITEMS simulate calibrate train plan validate)
  if(TARGET ${program})
    list(APPEND programs ${program})
  endif()
endforeach()
install(PROGRAMS engine/lockstep DESTINATION ${CMAKE_INSTALL_BINDIR})
configure_file(engine/lockstep ${CMAKE_BINARY_DIR}/lockstep COPYONLY)
install(FILES engine/lockstep.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(program IN LISTS programs)
  add_dependencies(programs ${program})
  install(TARGETS ${program} RUNTIME DESTINATION libexec/lockstep)   # where engine/lockstep looks for it
  get_target_property(folder ${program} SOURCE_DIR)
  if(EXISTS ${folder}/${program}.1)
    file(READ ${folder}/${program}.1 page)
    string(REPLACE "\n.B ${program}" "\n.B lockstep ${program}" page "${page}")
    string(REPLACE "\n${program} \\-" "\nlockstep\\-${program} \\-" page "${page}")
    file(WRITE ${CMAKE_BINARY_DIR}/man/lockstep-${program}.1 "${page}")
    install(FILES ${CMAKE_BINARY_DIR}/man/lockstep-${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endforeach()
if(TARGET lockstep_simgrid)
  add_dependencies(programs lockstep_simgrid)
  install(TARGETS lockstep_simgrid LIBRARY DESTINATION libexec/lockstep)
endif()
if(TARGET python_package)
  add_dependencies(programs python_package)
endif()
# Completion for bash and zsh, from each program's own options; that of lockstep is made of them, and installed.
set(folder ${CMAKE_BINARY_DIR}/completions)
set(completions ${folder}/lockstep ${folder}/_lockstep)
file(MAKE_DIRECTORY ${folder})
set(of_programs)
foreach(program IN LISTS programs)
  add_custom_command(OUTPUT ${folder}/${program} ${folder}/_${program}
                     COMMAND ${program} --completion bash > ${folder}/${program}
                     COMMAND ${program} --completion zsh > ${folder}/_${program}
                     DEPENDS ${program} COMMENT "Completion of ${program}" VERBATIM)
  list(APPEND of_programs ${folder}/${program} ${folder}/_${program})
endforeach()
set(script ${CMAKE_SOURCE_DIR}/engine/cmake/lockstep_completion.sh)
add_custom_command(OUTPUT ${completions}
                   COMMAND ${script} bash ${folder} ${programs} > ${folder}/lockstep
                   COMMAND ${script} zsh ${folder} ${programs} > ${folder}/_lockstep
                   DEPENDS ${script} ${of_programs} COMMENT "Completion of lockstep" VERBATIM)
install(FILES ${folder}/lockstep DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${folder}/_lockstep DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
add_custom_target(completions ALL DEPENDS ${completions} ${of_programs})
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
