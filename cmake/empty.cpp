// Keeps a component whose files are all tests a valid library.
