// The parts of Boost.Beast that are not templates, compiled once
// (BOOST_BEAST_SEPARATE_COMPILATION).
#include <boost/beast/src.hpp>
