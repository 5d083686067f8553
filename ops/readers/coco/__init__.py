"""`readers.coco`: images with boxes, labels and masks, from annotations in COCO's format."""
