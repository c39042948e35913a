// The names of the Store contract, for headers that only hand a store on: a change of
// store/store.h then rebuilds the sources that call it, and no others.
#pragma once

namespace millrace {

class Reader;
class Store;
class Writer;

}  // namespace millrace
