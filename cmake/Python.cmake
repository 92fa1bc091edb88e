# What the Python package has inside (pyproject.toml builds and installs this alone): the library as one
# file, without the links to its versions, which a wheel would hold as copies, and the program, which pip
# puts beside python.
set_target_properties(kerbin_shared PROPERTIES VERSION "" SOVERSION "" NO_SONAME ON)
if(KERBIN_STRIP)
  # Done by the linker, since the strip of this machine may not know the files of another.
  if(NOT APPLE)
    target_link_options(kerbin_flags INTERFACE LINKER:-s LINKER:--gc-sections)
  endif()
  target_compile_options(kerbin_flags INTERFACE -ffunction-sections -fdata-sections)
endif()
if(WIN32)
  set_target_properties(kerbin_shared PROPERTIES PREFIX "")
endif()
install(TARGETS kerbin_shared LIBRARY DESTINATION kerbin RUNTIME DESTINATION kerbin)
install(TARGETS kerbin_program RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
if(KERBIN_NOTICES) # licences and versions of libraries that are linked in
  install(FILES ${KERBIN_NOTICES} DESTINATION kerbin)
endif()
