# Writes OUT, a header that says which commit of SOURCE is built, where that has changed.   cmake -DSOURCE=DIR -DOUT=FILE -DCOMMIT=NAME -P commit.cmake
if(NOT COMMIT)
  execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE COMMIT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(COMMIT unknown)   # a copy without its history: -DSHARD_COMMIT=NAME says it
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define SHARD_COMMIT \"${COMMIT}\"\n")
