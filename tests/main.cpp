// Catch2's main alone: it takes ten seconds to compile, so nothing else belongs here.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
