# find_package(Shard): Shard::shard is the shared library, which needs nothing else; Shard::shard_static is there where
# what it is linked with is found, oneTBB and zlib; a package of a distribution leaves it out.
include("${CMAKE_CURRENT_LIST_DIR}/ShardTargets.cmake")
find_package(TBB QUIET)
find_package(ZLIB QUIET)
if(TARGET TBB::tbb AND TARGET ZLIB::ZLIB AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/ShardStaticTargets.cmake")
  include("${CMAKE_CURRENT_LIST_DIR}/ShardStaticTargets.cmake")
endif()
