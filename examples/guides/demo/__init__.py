"""What dcprog is for, in under a minute: four pictures, four tables, peers beside ours.

``python -m examples.guides.demo --output folder``; a file a subject, each with what it measures and
how that is drawn.
"""
