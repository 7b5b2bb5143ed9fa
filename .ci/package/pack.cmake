# The packages anew, of the files that CPack laid out: in its own are the owners, the order of the file system and the permissions of who makes them.
set(stage "${CPACK_TEMPORARY_DIRECTORY}")
if(CPACK_GENERATOR STREQUAL TGZ)
  execute_process(
    COMMAND tar --sort=name --format=gnu --owner=root:0 --group=root:0 --mtime=@$ENV{SOURCE_DATE_EPOCH} -C "${stage}/Unspecified" -cf - "${CPACK_PACKAGE_FILE_NAME}"
    COMMAND gzip -9n OUTPUT_FILE "${CPACK_PACKAGE_FILES}" COMMAND_ERROR_IS_FATAL ANY)
endif()
find_program(DPKG_DEB dpkg-deb)
if(CPACK_GENERATOR STREQUAL DEB AND DPKG_DEB)
  file(GLOB control "${stage}/*/control")
  cmake_path(GET control PARENT_PATH tree)
  execute_process(COMMAND sh -ec [[
      cd "$1"
      rm -f debian-binary ./*.tar.*
      mkdir -p DEBIAN
      for one in *; do [ -d "$one" ] || mv "$one" DEBIAN; done   # control and what goes with it
      rm -f DEBIAN/postinst DEBIAN/postrm   # CPack's call ldconfig, which has a trigger for that
      echo 'activate-noawait ldconfig' >DEBIAN/triggers
      touch --date=@"$SOURCE_DATE_EPOCH" DEBIAN/triggers
      chmod 644 DEBIAN/*
      chmod 755 . DEBIAN]] sh "${tree}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${DPKG_DEB}" --root-owner-group -Zgzip -z9 --build "${tree}" "${CPACK_PACKAGE_FILES}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endif()
