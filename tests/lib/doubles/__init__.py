"""What stands in for the clouds: written from the providers' documentation, in Python's own library alone, and from
nothing of ours, so that a mistake of ours is not made here too."""
