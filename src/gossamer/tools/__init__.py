"""Tools for developers and installation: compile all kernels, generate the reference and the list of licences."""
