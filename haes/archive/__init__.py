"""Old events into files and out of the stream: in steps, each of which another process can do; no waiting, no pace."""
