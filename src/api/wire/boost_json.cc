// Boost.JSON itself, compiled here once instead of linked: Debian's -dev package of 1.81 does not
// contain the library.
#include <boost/json/src.hpp>
