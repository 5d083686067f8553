"""The transforms of Albumentations: what `gradiva.convert.albumentations` makes calls of."""
