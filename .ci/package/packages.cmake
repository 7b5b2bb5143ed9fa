# Packages: `cpack` in the build folder makes a .deb and a .tar.gz of the program, the shared library, headers, the modules' text and the lessons.
# The same commit gives the same bytes, whoever makes them, wherever and whenever: dates are the commit's, owners are root (tests/reproducible.sh).
include(GNUInstallDirs)
set(doc ${CMAKE_INSTALL_DATADIR}/doc/shard)
install(FILES README.md CHANGELOG.md grammar/language.md stdlib/reference.md DESTINATION ${doc})
install(DIRECTORY scripts DESTINATION ${doc})   # with the tutorial and the data; named from here, as README.md names them: scripts/data/...
file(GLOB modules CONFIGURE_DEPENDS stdlib/*.shard)
install(FILES ${modules} DESTINATION ${CMAKE_INSTALL_DATADIR}/shard/modules)   # to be read; the program holds them
install(DIRECTORY grammar/editors DESTINATION ${CMAKE_INSTALL_DATADIR}/shard)

# LICENSE in the form that Debian's tools read.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS LICENSE)
file(READ LICENSE license)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)\n+(.*[^\n])" license "${license}")
set(holders "${CMAKE_MATCH_1}")
string(REPLACE "\n" "\n " license " ${CMAKE_MATCH_2}")
string(REPLACE "\n \n" "\n .\n" license "${license}")
configure_file(.ci/package/copyright.in copyright @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION ${doc})

string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" machine)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME shard)
set(CPACK_PACKAGE_VENDOR Shard)
set(CPACK_PACKAGE_CONTACT "The Shard authors <maintainers@shard.example>")
string(REGEX REPLACE "^A " "" CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")   # as Debian's titles are
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "A script declares a mesh of devices, lays arrays out over it and trains;
the compiler finds what the devices must send each other, and shows it.
Devices are simulated, in one process or in several, or those of a plug-in
of PJRT.
.
This package has the program, the library for C++, C and what calls C, the
language's modules to be read, and the lessons.")
set(CPACK_PACKAGE_FILE_NAME shard-${PROJECT_VERSION}-${machine})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)       # of these alone: without the static library and the module for MPI, which needs all of Open MPI
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)   # shard_0.1.0_amd64.deb
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
find_program(SHLIBDEPS dpkg-shlibdeps)
if(SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  get_property(CPACK_DEBIAN_PACKAGE_DEPENDS GLOBAL PROPERTY SHARD_LATE_PACKAGES)   # no program says that it needs them
  list(JOIN CPACK_DEBIAN_PACKAGE_DEPENDS ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libstdc++6 (>= 12), libtbb12 (>= 2021.8), libedit2, libsodium23, liblapacke, libopenblas0-pthread | liblapack.so.3, zlib1g")
endif()
# What is done while packages are made: before, the commit's date; once the files lie there, theirs and the .deb's changelog; afterwards both are packed.
set(CPACK_SHARD_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/.ci/package/date.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/.ci/package/stage.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/.ci/package/pack.cmake)
include(CPack)
