"""`gradiva.experimental.torchvision`: against torchvision, Pillow and DALI."""
