"""On the PYTHONPATH, this makes OpenCV and simplejpeg packages that cannot be imported."""

import sys

sys.modules.update(dict.fromkeys(("cv2", "simplejpeg")))
