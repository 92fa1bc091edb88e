# What `make install` puts where: program, manual pages, completions, header, both libraries, and the
# ways by which pkg-config and CMake find them.
include(CMakePackageConfigHelpers)
set(KERBIN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Kerbin)
set(KERBIN_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
  "Where completions for zsh go")

install(TARGETS kerbin_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET kerbin_mpi)
  install(TARGETS kerbin_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  file(WRITE ${PROJECT_BINARY_DIR}/kerbin-mpi.1 ".so man1/kerbin.1\n")
  install(FILES ${PROJECT_BINARY_DIR}/kerbin-mpi.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
set(KERBIN_PAGES ${PROJECT_BINARY_DIR}/pages)
install(DIRECTORY ${KERBIN_PAGES}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
install(FILES ${KERBIN_PAGES}/bash/kerbin
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
install(FILES ${KERBIN_PAGES}/zsh/_kerbin
  DESTINATION ${KERBIN_ZSH_DIR} OPTIONAL)
install(FILES ${KERBIN_PAGES}/fish/kerbin.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
install(FILES include/kerbin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS kerbin_shared EXPORT KerbinTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS kerbin_static EXPORT KerbinStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Two export files: who uses the shared library needs none of its dependencies.
install(EXPORT KerbinTargets NAMESPACE Kerbin:: DESTINATION ${KERBIN_CMAKE_DIR})
install(EXPORT KerbinStaticTargets NAMESPACE Kerbin:: DESTINATION ${KERBIN_CMAKE_DIR})
configure_package_config_file(cmake/KerbinConfig.cmake.in ${PROJECT_BINARY_DIR}/KerbinConfig.cmake
  INSTALL_DESTINATION ${KERBIN_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/KerbinConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/KerbinConfig.cmake
  ${PROJECT_BINARY_DIR}/KerbinConfigVersion.cmake DESTINATION ${KERBIN_CMAKE_DIR})

# The prefix is told relative to the file, so that an installed tree can be moved.
file(RELATIVE_PATH KERBIN_PC_PREFIX
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(library ${CMAKE_DL_LIBS})
  string(APPEND CMAKE_DL_LIBS_FLAG "-l${library} ")
endforeach()
configure_file(cmake/kerbin.pc.in ${PROJECT_BINARY_DIR}/kerbin.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kerbin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
