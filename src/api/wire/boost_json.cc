// Boost.JSON itself, compiled here once instead of linked: Debian's 1.81 packages come without it
// unless one also takes the library package.
#include <boost/json/src.hpp>
