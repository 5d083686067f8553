"""Calls that type checkers must flag: those marked, and no others. It is checked, not run."""

import gradiva
from gradiva import pipeline_def
from gradiva import fn
from gradiva import types


def use(images: gradiva.Batch, tensor: gradiva.Tensor) -> None:
    gradiva.resize(images, siz=(1, 1))  # wrong
    gradiva.resize(images, size="large", antialias="yes")  # wrong
    gradiva.flip(images, horizontl=1)  # wrong
    gradiva.crop_mirror_normalize(images, dtype=5.5)  # wrong
    gradiva.readers.File(file_rot="x")  # wrong
    gradiva.random.uniform(rang=(0, 1))  # wrong
    gradiva.random.uniform(range="x")  # wrong
    gradiva.random.coin_flip(probabilit=0.5)  # wrong
    fn.readers.file(file_rot="x")  # wrong
    fn.decoders.image(images, output_typ=types.RGB)  # wrong
    gradiva.batch([1], layot="HWC")  # wrong
    gradiva.tensor([1], dtyp=gradiva.float32)  # wrong
    gradiva.show(images, boxs=None)  # wrong
    gradiva.math.sqrt(images, 5)  # wrong
    gradiva.transforms.rotation(angel=30.0)  # wrong
    gradiva.reductions.mean(images, axs=0)  # wrong
    gradiva.rotat(images)  # wrong
    print(images.batch_sise)  # wrong
    tensor.itm()  # wrong
    gradiva.EvalContext(num_thread=2)  # wrong
    gradiva.readers.File(file_root="x").next_epoch(batchsize=2)  # wrong
    gradiva.cat(images, axiss=0)  # wrong
    gradiva.warp_affine(images, matrx=1)  # wrong
    gradiva.expand_dims(images, axes="a")  # wrong
    gradiva.set_num_threads("two")  # wrong
    print(images + "text")  # wrong
    print(tensor + images)
    print(gradiva.box_encoder(images, images, anchors=[0.0, 0.0, 1.0, 1.0]).shape)  # wrong
    one, two, three = gradiva.random_crop_generator(images)  # wrong
    print(gradiva.resize(images, size=(1, 1)).shap)  # wrong
    print(gradiva.flip(images).shap)  # wrong


@pipeline_def(batch_sise=2)  # wrong
def pipe() -> object:
    return fn.random.uniform(range=(0.0, 1.0))
