"""What people configure: resources, nodes, intervals, a whole cluster; checked, with errors that name key and value."""
