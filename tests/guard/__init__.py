"""The guard room: is it safe. Packages of the corpus, boxes to try and tables are shared by the tests."""
