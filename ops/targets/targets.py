"""`Targets`: what belongs to images, and moves with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from gradiva.eager.operators.input_sets import SET_TYPES
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, wrong_value
from gradiva.eager.values.value import Following, Symbolic

from .bent import bent_points, bent_polygons
from .boxes import boxes as move_boxes
from .boxes import check_format
from .canvas import canvas
from .chosen import chosen
from .masks import masks as move_masks
from .past import past
from .points import ORIGINS
from .points import cameras as move_cameras
from .points import keypoints as move_keypoints
from .polygons import polygons as move_polygons

FIELDS: Final = ("boxes", "labels", "keypoints", "masks", "polygons", "vertices", "cameras")
"""What targets may hold, apart from columns."""
_KEPT: Final = " kept"
_OF_BOXES: Final = (
    *("format", "relative", "clip", "drop", "min_visibility", "min_area", "min_size", "invalid"),
)
"""The options that are about boxes."""


class Targets(Following):
    """Boxes, keypoints, masks, polygons and camera matrices of images, which move with them.

    An operator that moves pixels takes targets behind its images, and returns both:
    `images, targets = gradiva.flip(images, targets, horizontal=coin)`. Targets may stand in tuples,
    lists and dicts. They do not change: an operator returns others. What they hold moves when it
    is read, once, however many operators there were.

    Args:
        boxes: (n, 4) a sample, of volumes (n, 6): numbers for each object. Of sequences also
            (f, n, 4), a box in each frame; keypoints and masks then have the axis f, too, and an
            object is left if it is left in a frame. In the others its box is 0.
        labels: (n,) a sample: a number for each object.
        keypoints: (n, k, 2) a sample, or (n, k, 3) with the visibility of COCO: 0 not labeled,
            1 hidden, 2 visible; or (k, 2) and (k, 3). Of volumes (x, y, z), and one number more.
            What leaves the image gets the visibility 0.
        masks: (n, H, W) a sample, one for each object; or (H, W) or (H, W, 1), classes of pixels.
            They are sampled at the nearest pixel, once; what comes from outside is 0.
        polygons, vertices: as the COCO reader has them: int32 (p, 3), each the number of the
            object, its first vertex and the one after its last; and (v, 2).
        cameras: (3, 3) or (3, 4) a sample: matrices from the camera, or from space, to pixels.
        columns: more values with a row for each object, by name: `targets["iscrowd"]`.
        format: of boxes: "xyxy", corners; "xywh", a corner and the extents; "cxcywh", the center
            and the extents. Of volumes the same with z and depth.
        relative: whether boxes, keypoints and vertices are in parts of the image, and not in
            pixels.
        clip: cut boxes at the edges of what is left of the image.
        drop: leave out objects of which nothing is left in the image, with all that belongs to
            them; and those below the three limits that follow.
        min_visibility: the part of the area of a box, from 0 to 1, that must be left.
        min_area, min_size: what area, and what width and height, it must have in the end, in
            pixels.
        invalid: what to do with boxes that end before they begin, have no area, lie outside of the
            first image or are not finite: "raise", or "drop" them.
        pixel_origin: whether (0, 0) of keypoints, vertices and cameras is the "corner" or the
            "center" of the first pixel. Boxes count from corners.
        keypoint_pairs: pairs of keypoints, such as left and right eye, that change places where
            an image is mirrored: [(1, 2), (3, 4)].

    Raises:
        OperatorTypeError: if there is nothing, and for `vertices` without `polygons`.
        OperatorValueError: for unknown formats and limits out of range.

    Example:
        image, boxes = gradiva.imread("cat.jpg"), np.float32([[120, 40, 330, 280]])
        targets = gradiva.Targets(boxes=boxes, labels=np.int32([17]), min_visibility=0.25)
        image, targets = gradiva.flip(image, targets, horizontal=1)
        image, targets = gradiva.crop(image, targets, crop=(200, 200))
        targets.boxes  # [[0.0, 0.0, 200.0, 200.0]]
    """

    __slots__ = ("_fields", "_first", "_followed", "_last", "_made", "_options", "_past", "_track")

    def __init__(
        self,
        *,
        boxes: Any = None,
        labels: Any = None,
        keypoints: Any = None,
        masks: Any = None,
        polygons: Any = None,
        vertices: Any = None,
        cameras: Any = None,
        columns: Mapping[str, Any] | None = None,
        format: str = "xyxy",
        relative: bool = False,
        clip: bool = True,
        drop: bool = True,
        min_visibility: float = 0.0,
        min_area: float = 0.0,
        min_size: float = 0.0,
        invalid: str = "raise",
        pixel_origin: str = "corner",
        keypoint_pairs: Any = (),
    ) -> None:
        check_format(format)
        if pixel_origin not in ORIGINS:
            raise wrong_value("pixel_origin", "'corner' or 'center'", repr(pixel_origin))
        if invalid not in ("raise", "drop"):
            raise wrong_value("invalid", "'raise' or 'drop'", repr(invalid))
        limits = {"min_visibility": min_visibility, "min_area": min_area, "min_size": min_size}
        for name, limit in limits.items():
            if not limit >= 0 or (name == "min_visibility" and limit > 1):
                expected = "a part, from 0 to 1" if name == "min_visibility" else "pixels from 0 on"
                raise wrong_value(name, expected, limit)
        values = (boxes, labels, keypoints, masks, polygons, vertices, cameras)
        given = dict(zip(FIELDS, values, strict=True))
        for name, value in (columns or {}).items():
            if name in FIELDS:
                raise OperatorValueError(
                    argument="columns", expected=f"names other than {', '.join(FIELDS)}", got=name
                )
            given[name] = value
        self._fields: Mapping[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        if not self._fields:
            raise OperatorTypeError(
                "targets hold something: give boxes, keypoints, masks or others"
            )
        if (polygons is None) != (vertices is None):
            raise OperatorTypeError("give both `polygons` and `vertices`, or neither")
        pairs = tuple(int(one) for pair in keypoint_pairs for one in pair)
        self._options: dict[str, Any] = {
            "format": format,
            "relative": bool(relative),
            "clip": bool(clip),
            "drop": bool(drop),
            **{name: float(limit) for name, limit in limits.items()},
            "invalid": invalid,
            "pixel_origin": pixel_origin,
            "keypoint_pairs": pairs,
        }
        self._track: Any = None
        self._past: Any = None
        self._first: Any = None
        self._last: Any = None
        self._followed: tuple[str, ...] = ()
        self._made: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what they hold."""
        return tuple(self._fields)

    @property
    def options(self) -> dict[str, Any]:
        """The formats and policies, by the names of the arguments."""
        return dict(self._options)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getitem__(self, name: str) -> Any:
        """What belongs to the images as they are now. Raises KeyError for what they do not hold."""
        if name not in self._fields:
            raise KeyError(f"{name!r}: these targets hold {', '.join(self._fields)}")
        if self._track is None:
            return self._fields[name]
        if name not in self._made:
            self._made[name] = self._moved(name)
        return self._made[name]

    def _held(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            held = ", ".join(self._fields)
            raise AttributeError(f"these targets have no {name}; they hold {held}") from None

    @property
    def boxes(self) -> Any:
        """The boxes, in pixels or parts of the images as they are now, in the format that they were
        given in."""
        return self._held("boxes")

    @property
    def labels(self) -> Any:
        """The labels of the objects that are left."""
        return self._held("labels")

    @property
    def keypoints(self) -> Any:
        """The keypoints of the objects that are left."""
        return self._held("keypoints")

    @property
    def masks(self) -> Any:
        """The masks of the objects that are left, or the classes of the pixels."""
        return self._held("masks")

    @property
    def polygons(self) -> Any:
        """Of each polygon its object, its first vertex, and the one after its last."""
        return self._held("polygons")

    @property
    def vertices(self) -> Any:
        """The vertices of the polygons."""
        return self._held("vertices")

    @property
    def cameras(self) -> Any:
        """The matrices of the cameras."""
        return self._held("cameras")

    def fields(self) -> dict[str, Any]:
        """All that they hold, by name, as it belongs to the images now."""
        return {name: self[name] for name in self._fields}

    def with_fields(self, fields: Mapping[str, Any]) -> Targets:
        """Targets of other images, with the formats and policies of these. fields: all that they
        hold, by name, as `fields()` returns it."""
        made = Targets.__new__(Targets)
        made._fields = {name: value for name, value in fields.items() if value is not None}
        made._options, made._track, made._first = self._options, None, None
        made._last = made._past = None
        made._followed, made._made = (), {}
        return made

    def _after(self, operator: str, track: Any, past: Any, image: Any, result: Any) -> Targets:
        """These targets after an operator that was given this image and made that; the track, and
        the past before it, say where places are then."""
        made = self._with(self._fields, track, (*self._followed, operator))
        # A symbol of the first image has no memory, and conditions may need it.
        made._first = image if self._track is None and isinstance(image, Symbolic) else self._first
        made._last = result if isinstance(result, Symbolic) else None
        made._past = past
        return made

    def _with(self, fields: Mapping[str, Any], track: Any, followed: tuple[str, ...]) -> Targets:
        made = Targets.__new__(Targets)
        made._fields, made._options, made._track = fields, self._options, track
        made._first, made._followed, made._made = self._first, followed, {}
        made._last, made._past = None, self._past
        return made

    def merged(
        self,
        other: Any,
        merge: Callable[[Any, Any, str], Any],
        inside: Callable[[int], AbstractContextManager[None]],
    ) -> Targets:
        """These targets where a condition is true, and the others where it is false (`if` in
        pipelines). Raises OperatorTypeError if they hold other things, or in other formats."""
        self._check_alike(other)
        tracks = [self._track, other._track]
        first = self._first if self._first is not None else other._first
        if any(track is not None for track in tracks) and first is not None:
            for side, track in enumerate(tracks):
                if track is None:
                    with inside(side):
                        tracks[side] = canvas.bind((first,), {"device": "cpu"})
        fields = {
            name: merge(value, other._fields[name], name) for name, value in self._fields.items()
        }
        followed = tuple(dict.fromkeys((*self._followed, *other._followed)))
        track = None if tracks[0] is None else merge(tracks[0], tracks[1], "track")
        made = self._with(fields, track, followed)
        made._first = first
        pasts = [self._past, other._past]
        if pasts[0] is not pasts[1]:
            for side, one in enumerate(pasts):
                if one is None:
                    with inside(side):
                        pasts[side] = past.bind((tracks[side],), {})
            made._past = merge(pasts[0], pasts[1], "past")
        return made

    def begun(self, images: Any) -> Targets:
        """These targets, with a track, which says that the images have not moved yet."""
        if self._track is not None:
            return self
        made = self._with(self._fields, canvas.bind((images,), {"device": "cpu"}), ())
        made._first = images if isinstance(images, Symbolic) else None
        made._last = made._first
        return made

    def part(self, take: Callable[[Any], Any]) -> Targets:
        """The targets of some of the samples."""
        track = None if self._track is None else take(self._track)
        made = self._with(_Part(self._fields, take), track, self._followed)
        made._past = None if self._past is None else take(self._past)
        return made

    def joined(self, others: Sequence[Any], join: Callable[[list[Any]], Any]) -> Targets:
        """The targets of all samples. What they hold was not parted, if it still is what it was.
        Raises OperatorTypeError if they hold other things, or in other formats."""
        several = [self, *others]
        for other in others:
            self._check_alike(other)
        fields = _whole_of([one._fields for one in several])
        if fields is None:
            fields = {name: join([one._fields[name] for one in several]) for name in self._fields}
        tracks = [one._track for one in several]
        if any(one is None for one in tracks) and any(one is not None for one in tracks):
            raise OperatorTypeError("targets that have moved, and others that begin with an image")
        track = None if tracks[0] is None else join(tracks)
        followed = tuple(dict.fromkeys(name for one in several for name in one._followed))
        made = self._with(fields, track, followed)
        if any(one._past is not None for one in several):
            made._past = join([one._passed() for one in several])
        return made

    def _passed(self) -> Any:
        """The past, which may be empty. There is a track."""
        return past.bind((self._track,), {}) if self._past is None else self._past

    def marked(self, mark: Callable[[Any], Any]) -> Targets:
        """These targets with `mark` of their track."""
        made = self._with(self._fields, mark(self._track), self._followed)
        made._past = mark(self._past)
        return made

    def _check_alike(self, other: Any) -> None:
        if self._options != other._options or self.names != other.names:
            raise OperatorTypeError(
                "its targets differ in what they hold, or in their formats and policies",
                expected=f"{self!r} {self._options}",
                got=f"{other!r} {other._options}",
            )

    @property
    def _kept(self) -> Any:
        """Of each object whether it is left; None where nothing says so."""
        if "boxes" not in self._fields:
            return None
        self["boxes"]
        return self._made[_KEPT]

    def _moved(self, name: str) -> Any:
        value, options, maps = self._fields[name], self._options, ", ".join(self._followed)
        bent: Any = () if self._past is None else (self._past,)
        if name == "boxes":
            given = {option: options[option] for option in _OF_BOXES}
            found, self._made[_KEPT] = move_boxes(value, self._track, *bent, **given, maps=maps)
            return found
        kept = self._kept
        left = () if kept is None else (kept,)
        origin = options["pixel_origin"]
        if bent and name == "keypoints":
            form = {one: options[one] for one in ("relative", "pixel_origin")}
            value = bent_points(value, *bent, **form, pairs=options["keypoint_pairs"])
        if name == "keypoints":
            return move_keypoints(
                value,
                self._track,
                *left,
                relative=options["relative"],
                pixel_origin=origin,
                pairs=options["keypoint_pairs"],
                maps=maps,
            )
        if name == "masks":
            inputs: Any = (value, self._track, *left, *bent)
            return move_masks(*inputs, bent=bool(bent), maps=maps)
        if name == "cameras":
            if bent:
                raise OperatorTypeError(
                    "no camera matrix says where places in an image are that was bent by one of "
                    f"{maps}",
                    operator="targets.cameras",
                )
            return move_cameras(value, self._track, pixel_origin=origin, maps=maps)
        if name in ("polygons", "vertices"):
            given = {one: options[one] for one in ("relative", "clip", "pixel_origin")}
            both: Any = self._fields["polygons"], self._fields["vertices"]
            if bent:
                form = {one: options[one] for one in ("relative", "pixel_origin")}
                both = bent_polygons(*both, *bent, **form)
            several: Any = (*both, self._track, *left)
            moved = move_polygons(*several, **given, maps=maps)
            self._made["polygons"], self._made["vertices"] = moved
            return self._made[name]
        return chosen(value, kept, what=name) if left else value

    def __repr__(self) -> str:
        after = f" after {', '.join(self._followed)}" if self._followed else ""
        return f"<Targets: {', '.join(self._fields)}{after}>"


class _Part(Mapping[str, Any]):
    """Values by name, of which some samples are taken when they are read.

    whole: the values of all samples. take: makes that part of what belongs to all.
    """

    def __init__(self, whole: Mapping[str, Any], take: Callable[[Any], Any]) -> None:
        self.whole = whole
        self._take = take
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._take(self.whole[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)


def _whole_of(fields: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The values of all samples, if these are the unchanged parts of one batch."""
    first = fields[0]
    if not isinstance(first, _Part):
        return None
    same = all(isinstance(one, _Part) and one.whole is first.whole for one in fields)
    return first.whole if same else None


SET_TYPES.add(Targets)
