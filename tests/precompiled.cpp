// Holds nothing: with it comes the header that all tests are compiled with.
