"""Front door 2: risks, losses of rows plus a penalty."""
