"""`show`: a figure of samples with boxes, labels and masks."""
