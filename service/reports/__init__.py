"""Reports: a plan as a document; charts as pictures with their tables."""
