"""The web page: the cluster as it is and as it was, in a browser. On top of everything, as commands are."""
