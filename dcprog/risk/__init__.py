"""Front door 2: losses of rows plus a penalty."""
