"""Image classifiers of known bias, and an author that draws."""
