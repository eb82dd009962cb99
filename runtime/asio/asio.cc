// The parts of Boost.Asio that are not templates. Every other source of the project only declares
// them (BOOST_ASIO_SEPARATE_COMPILATION), which halves the code that each of them compiles.
#include <boost/asio/impl/src.hpp>
