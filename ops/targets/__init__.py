"""Targets: boxes, keypoints, masks, polygons and cameras that follow their images."""
