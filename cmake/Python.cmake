# The library inside the Python package (pyproject.toml builds and installs this alone): one file,
# without the links to its versions, which a wheel would hold as copies.
set_target_properties(kerbin_shared PROPERTIES VERSION "" SOVERSION "" NO_SONAME ON)
set_target_properties(kerbin_static PROPERTIES EXCLUDE_FROM_ALL ON)
install(TARGETS kerbin_shared LIBRARY DESTINATION kerbin)
