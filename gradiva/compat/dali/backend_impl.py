"""The names of `gradiva.backend` under the module name that some scripts import."""

from gradiva import tfrecord as tfrecord
from gradiva import types as types
from gradiva.compat.dali.backend import *  # noqa: F403
